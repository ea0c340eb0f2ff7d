/**
 * Points at which the daemon can be made to crash, for `posthaste crashtest`: between two steps that must be consistent
 * after a crash. When disabled, a point is one comparison. State is per module and thus per thread, because the points
 * are deep in code that shouldn't know about tests.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * What makes the daemon reach a point: mail, a start, a stop, a broadcast, or a move to another database. `crashtest`
 * doesn't use the last two.
 */
export type CrashTrigger = 'traffic' | 'start' | 'stop' | 'broadcast' | 'move'

/** All crash points, each with a description of the state at that point. */
export const CRASH_POINTS = {
  'message-file': { reach: 'traffic', at: 'a large message is in a file, its rows are not written' },
  'accept-before-commit': { reach: 'traffic', at: 'the rows of an email are written, not committed' },
  'accept-after-commit': { reach: 'traffic', at: 'an email is committed, the client has no reply' },
  'claim-before-commit': { reach: 'traffic', at: 'a lease is written, not committed' },
  'claim-after-commit': { reach: 'traffic', at: 'a lease is committed, no attempt has started' },
  connect: { reach: 'traffic', at: 'about to connect to a mail exchanger' },
  data: { reach: 'traffic', at: 'the mail exchanger replied 354, no byte of the message was sent' },
  body: { reach: 'traffic', at: 'the message is sent, perhaps including its final dot' },
  'remote-250': { reach: 'traffic', at: 'the mail exchanger accepted the message, nothing is recorded' },
  'settle-before-commit': { reach: 'traffic', at: 'the outcome is written, not committed' },
  'settle-after-commit': {
    reach: 'traffic',
    at: 'the outcome is committed, the dispatcher does not know it',
  },
  'receive-before-commit': {
    reach: 'traffic',
    at: 'the rows of a message to the public MX are written, not committed',
  },
  'receive-after-commit': {
    reach: 'traffic',
    at: 'a received message is committed, its sender has no reply',
  },
  'bounce-before-commit': {
    reach: 'traffic',
    at: 'the effects of a returned message are written, not committed',
  },
  'bounce-after-commit': {
    reach: 'traffic',
    at: 'the effects of a returned message are committed, no event is sent',
  },
  webhook: { reach: 'traffic', at: 'the webhook responded, nothing is recorded' },
  retention: {
    reach: 'traffic',
    at: 'rows of finished emails are deleted, the files of their messages are not',
  },
  'expand-before-commit': { reach: 'broadcast', at: 'contacts became recipients, not committed' },
  'expand-after-commit': { reach: 'broadcast', at: 'contacts became recipients, none has an email' },
  'enqueue-before-commit': { reach: 'broadcast', at: 'recipients have emails, not committed' },
  'enqueue-after-commit': { reach: 'broadcast', at: 'recipients have emails, the dispatcher was not woken' },
  migration: { reach: 'start', at: 'some migrations ran, nothing is committed' },
  'storage-move': { reach: 'move', at: 'rows are copied to another database, not committed' },
  checkpoint: { reach: 'stop', at: 'a clean stop, before the log is copied into the database' },
} as const satisfies Record<string, { reach: CrashTrigger; at: string }>

export type CrashPoint = keyof typeof CRASH_POINTS

/** The environment variable that arms a point: `name:count` crashes at the count-th pass in a thread. */
export const CRASH_POINT_VARIABLE = 'POSTHASTE_CRASH_POINT'

/** File that marks a data directory as created by `crashtest`, and therefore disposable. */
export const SCRATCH_MARKER = '.crashtest'

let armed: { name: string; left: number } | undefined

/**
 * Reads the variable. Call it once at the start of each thread.
 * @returns undefined, or the reason why the daemon must not start, in a sentence that names the variable
 */
export function armCrashPoint(env: NodeJS.ProcessEnv, dataDir: string): string | undefined {
  const text = env[CRASH_POINT_VARIABLE]
  if (text === undefined || text === '') return undefined
  const [, name = '', count = ''] = /^([a-z0-9-]+):([1-9]\d{0,8})$/.exec(text) ?? []
  if (!Object.hasOwn(CRASH_POINTS, name)) {
    const known = Object.keys(CRASH_POINTS).join(', ')
    return `${CRASH_POINT_VARIABLE} must be name:count, with a name from ${known}; it is "${text}". Unset it: only posthaste crashtest uses it.`
  }
  if (!existsSync(join(dataDir, SCRATCH_MARKER)))
    return `${CRASH_POINT_VARIABLE} is set, but ${dataDir} was not created by posthaste crashtest. The daemon would kill itself. Unset it.`
  armed = { name, left: Number(count) }
  return undefined
}

/**
 * Crashes here if this point is armed and its count is reached. Uses SIGKILL: no handler, no exit code, no final write.
 */
export function crashPoint(name: CrashPoint): void {
  if (armed !== undefined) strike(name)
}

/** The crash points before and after the commits of storage methods. */
const COMMITS: Record<string, 'accept' | 'claim' | 'settle' | 'receive' | 'bounce' | 'expand' | 'enqueue'> = {
  put: 'accept',
  lease: 'claim',
  settle: 'settle',
  keepReceivedEmails: 'receive',
  keepReturned: 'receive',
  settleReturned: 'bounce',
  expandBroadcast: 'expand',
  enqueueBroadcast: 'enqueue',
}

/** Runs the crash point before or after the commit of storage calls, once per call. */
export function crashAtCommit(calls: readonly { method: string }[], when: 'before' | 'after'): void {
  if (armed === undefined) return
  for (const { method } of calls) {
    const point = COMMITS[method]
    if (point) strike(`${point}-${when}-commit`)
  }
}

function strike(name: CrashPoint): void {
  if (armed?.name !== name || --armed.left > 0) return
  process.kill(process.pid, 'SIGKILL')
}
