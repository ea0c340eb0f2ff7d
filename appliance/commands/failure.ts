import { Refusal } from '../mail/refusals.ts'
import { userInfo } from 'node:os'

/** An expected failure: one line on standard error, exit code 1. */
export class Failure extends Error {}

/** Wrong usage: one line on standard error, exit code 2. */
export class UsageError extends Failure {}

/** Reads an argument with one of the API's readers, and reports a refused value as wrong usage. */
export async function parseArgument<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const known = error instanceof Refusal && ['invalid_field', 'invalid_parameter'].includes(error.key)
    if (!known) throw error
    throw new UsageError(error.message, { cause: error })
  }
}

/** Returns the system's user name of this process for the audit log; `uid 10001` if there is none. */
export function systemUserName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a uid without an entry in /etc/passwd, and getpwuid(3) fails.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/**
 * Describes a file error. If access was denied, names the user: the installed program runs root's commands as the
 * service user, who may not read files that root has just written.
 */
export function describeFileError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const { code, path } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && path !== undefined) return `${path} does not exist`
  if (code === 'EISDIR') return 'it is a directory'
  if (!/\b(EACCES|EPERM)\b/.test(message)) return message
  return `${message.replace(/\.$/, '')}. The user ${systemUserName()} has no permission. Grant it, or run the command as another user (docs/install.md).`
}

/** First words of error messages about missing objects, each with the command that lists such objects. */
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

/** Formats an error for a terminal. If an object was not found, names the command that lists them. */
export function formatError(error: Error): string {
  const list = error instanceof Refusal && error.key === 'not_found' && listOf(error.message)
  return list ? `${error.message}. See: posthaste ${list}` : error.message
}

const listOf = (sentence: string): string | undefined =>
  LISTS.find(([what]) => sentence.startsWith(`${what} `))?.[1]
