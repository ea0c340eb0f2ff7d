/** Errors of PostgreSQL and of the network as plain data, and their meaning for callers that don't know the engine. */
import type { Failure, FailureKind } from '../engine/failures.ts'

/** An error in the form that is sent between threads. */
export interface ServerError {
  message: string
  /** The server's SQLSTATE (five characters), or a network error such as `ECONNREFUSED`; null: neither. */
  code: string | null
}

/** Converts an error to data. Omits `detail`, which contains row values, to keep addresses out of the log. */
export function dataOf(error: unknown): ServerError {
  if (!(error instanceof Error)) return { message: String(error), code: null }
  // Node combines the failures of all addresses in one error with an empty message.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : undefined
  if (error.message === '' && first !== undefined) return dataOf(first)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  return { message: error.message, code: code ?? (LOST.test(error.message) ? 'ECONNRESET' : null) }
}

/** The messages of `pg` without a code when a connection ends. */
const LOST =
  /^(Connection terminated|Client has encountered a connection error|timeout expired|Query read timeout)/

/** An error of the server, thrown where a statement ran. */
export class PostgresError extends Error {
  readonly code: string | null

  constructor({ message, code }: ServerError) {
    super(message)
    this.name = 'PostgresError'
    this.code = code
  }
}

/**
 * Reports whether the transaction may succeed if it runs again, because others wrote at the same time (SQLSTATE class
 * 40).
 */
export const isConflict = (error: unknown): boolean =>
  error instanceof PostgresError && (error.code === '40001' || error.code === '40P01')

const FULL = /^53100$/
/** Resources, a starting or stopping server, timeouts, locks, conflicts, a standby, the disk, the network. */
const TRANSIENT =
  /^(53|57|08|40|55P03|25006|25P02|25P03|58|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES)/
const DAMAGED = /^XX00[12]$/
/** The server's response is missing, so a commit may have happened. */
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

/**
 * Converts an error for the main thread.
 * @param committing whether it came from the commit
 */
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
