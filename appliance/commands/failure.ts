import { Refusal } from '../mail/refusals.ts'
import { userInfo } from 'node:os'

/** A command's "no": one line on standard error, exit code 1. */
export class Failure extends Error {}

/** What was typed cannot be used: one line on standard error, exit code 2. */
export class Misuse extends Failure {}

/** Reads what was typed with a reader that the API uses, too: a value that it refuses is wrong usage here. */
export async function readTyped<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const known = error instanceof Refusal && ['invalid_field', 'invalid_parameter'].includes(error.key)
    if (!known) throw error
    throw new Misuse(error.message, { cause: error })
  }
}

/** The system's name for the user of this process, for the audit log; `uid 10001` where it has none. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container runs as a number that no line of /etc/passwd belongs to: getpwuid(3) finds nothing.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

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

/** First words of the sentence, and who lists such things. */
const LISTS: readonly (readonly [what: string, command: string])[] = [
  ['Domain', 'domain list'],
  ['API key', 'key list'],
  ['Contact', 'contact list'],
  ['Audience', 'segment list'],
  ['Topic', 'topic list'],
  ['Template', 'template list'],
  ['Broadcast', 'broadcast list'],
  ['Webhook', 'webhook list'],
  ['Suppression', 'suppression list'],
  ['Member', 'member list'],
  ['Source', 'source list'],
  ['Assignment', 'source list'],
  ['Provider', 'provider list'],
  ['Lane', 'lane list'],
  ['Audit entry', 'audit'],
]

/** The reason for people at a terminal: who asked for what is not there is told where to look. */
export function reasonOf(error: Error): string {
  const list = error instanceof Refusal && error.key === 'not_found' && listOf(error.message)
  return list ? `${error.message}. See: posthaste ${list}` : error.message
}

const listOf = (sentence: string): string | undefined =>
  LISTS.find(([what]) => sentence.startsWith(`${what} `))?.[1]
