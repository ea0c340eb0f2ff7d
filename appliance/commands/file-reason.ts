import { userName } from './user-name.ts'

/**
 * What went wrong with a file, for people. Where access was denied also as whom it was tried: the installed program does
 * what root asks as the user of the service, who may not read what root has just written.
 */
export function fileReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const { code, path } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && path !== undefined) return `${path} does not exist`
  if (code === 'EISDIR') return 'it is a directory'
  if (!/\b(EACCES|EPERM)\b/.test(message)) return message
  return `${message.replace(/\.$/, '')}. The user ${userName()} has no permission. Grant it, or run the command as another user (docs/install.md).`
}
