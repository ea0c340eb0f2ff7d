/** Errors of PostgreSQL and of the way to it, as plain data, and what they mean to callers that know no engine. */
import type { Failure, FailureKind } from '../sqlite/failures.ts'

/** An error as it crosses from thread to thread. */
export interface ServerError {
  message: string
  /** Five characters from the server (SQLSTATE), or a name of the network, such as `ECONNREFUSED`; null: neither. */
  code: string | null
}

/** The error as data. Values of rows, which the server tells in `detail`, are left out: logs are not for addresses. */
export function dataOf(error: unknown): ServerError {
  if (!(error instanceof Error)) return { message: String(error), code: null }
  // Node tells of all addresses that it tried in one error, whose own message is empty.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : undefined
  if (error.message === '' && first !== undefined) return dataOf(first)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  return { message: error.message, code: code ?? (LOST.test(error.message) ? 'ECONNRESET' : null) }
}

/** What `pg` says without a code when the connection ends. */
const LOST =
  /^(Connection terminated|Client has encountered a connection error|timeout expired|Query read timeout)/

/** An error of the server, thrown where a statement was run. */
export class PostgresError extends Error {
  readonly code: string | null

  constructor({ message, code }: ServerError) {
    super(message)
    this.name = 'PostgresError'
    this.code = code
  }
}

/** Whether the transaction may succeed when it runs again: others wrote at the same time (SQLSTATE class 40). */
export const isConflict = (error: unknown): boolean =>
  error instanceof PostgresError && (error.code === '40001' || error.code === '40P01')

const FULL = /^53100$/
/** Resources, a server that stops or starts, timeouts, locks, conflicts, a standby, the disk, the network. */
const TRANSIENT =
  /^(53|57|08|40|55P03|25006|25P02|25P03|58|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES)/
const DAMAGED = /^XX00[12]$/
/** The server's answer is missing, so a commit may have happened. */
const UNANSWERED = /^(08|57P|E[A-Z])/

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [FULL, 'The disk of the database server is full: free some space there'],
  [/^(25006|57P03)/, 'The database server takes no writes now: it is starting, stopping, or a standby'],
  [/^53300$/, 'The database server has no connection left: raise max_connections, or stop what uses them up'],
  [/^(53|58)/, 'The database server is out of resources, or its disk failed: see its log'],
  [/^57014$/, 'A statement took too long: look for locks and load on the database server'],
  [/^28/, 'The database server refuses the user or password: check storage.url'],
  [/^3D000$/, 'There is no such database on the server: create it, or check storage.url'],
  [DAMAGED, 'The database is damaged: keep its files, and restore the newest backup'],
  [
    /^(08|57P|E[A-Z])/,
    'The database server cannot be reached: check that it runs, and storage.url. Posthaste connects again by itself',
  ],
]

/** An error as what crosses to the main thread. @param committing it came from the commit */
export function packPostgres(error: unknown, committing = false): Failure {
  const { code, message } = dataOf(error)
  const stack = error instanceof Error ? error.stack : undefined
  const ambiguous = committing && code !== null && UNANSWERED.test(code)
  const sentence = adviceFor(code)
  return {
    message: sentence === undefined ? message : `${sentence} (${code}: ${message}).`,
    code,
    ambiguous,
    stack,
    kind: ambiguous ? 'ambiguous' : kindOf(code),
  }
}

const adviceFor = (code: string | null): string | undefined =>
  code === null ? undefined : ADVICE.find(([codes]) => codes.test(code))?.[1]

function kindOf(code: string | null): FailureKind | null {
  if (code === null) return null
  if (FULL.test(code)) return 'full'
  if (TRANSIENT.test(code)) return 'transient'
  return DAMAGED.test(code) ? 'damaged' : null
}
