/** Errors of PostgreSQL and of the network as plain data, and their meaning for callers that don't depend on the engine. */
import type { Failure, FailureKind } from '../engine/failures.ts'

/** An error in the form in which it is sent between threads. */
export interface ServerError {
  message: string
  /**
   * The server's SQLSTATE (five characters), or the code of a network error such as `ECONNREFUSED`; null if there is no
   * code.
   */
  code: string | null
}

/** Converts an error to data. Omits `detail`, which contains row values, to keep addresses out of the log. */
export function toServerError(error: unknown): ServerError {
  if (!(error instanceof Error)) return { message: String(error), code: null }
  // Node combines the failures of all addresses in one error with an empty message.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : undefined
  if (error.message === '' && first !== undefined) return toServerError(first)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  return { message: error.message, code: code ?? codeOf(error.message) }
}

const codeOf = (message: string): string | null =>
  CODES.find(([messages]) => messages.test(message))?.[1] ?? null

/** Error messages of `pg` that have no code, and the codes to use for them. */
const CODES: readonly (readonly [RegExp, string])[] = [
  [
    /^(Connection terminated|Client has encountered a connection error|timeout expired|Query read timeout)/,
    'ECONNRESET',
  ],
  [/^SASL/, '28P01'],
  [/^The server does not support SSL/, 'ERR_TLS'],
]

/** Errors after which the server closes the connection, because it is stopping, or ended an idle session or transaction. */
const FATAL = /^(57P0[1-5]|25P0[34])$/

/**
 * Whether the connection can't be used after this error: the server is closing it, or it didn't respond in time, so that
 * the statement may still be running.
 */
export function isUnusable(error: unknown): boolean {
  const { code, message } = toServerError(error)
  return message.startsWith('Query read timeout') || (code !== null && FATAL.test(code))
}

/**
 * Reports whether a prepared statement has other columns than before, because a newer version upgraded the schema. On a
 * new connection, it is prepared again.
 */
export const isOutdatedPlan = (error: unknown): boolean =>
  error instanceof Error &&
  (error as { code?: unknown }).code === '0A000' &&
  error.message.startsWith('cached plan must not change result type')

/**
 * Error code for a server that Posthaste refuses to use. Such errors may be temporary: a setting is corrected, or
 * another daemon stops.
 */
const REFUSED = 'PH001'

/** Creates an error whose message is a sentence for people. */
export const createServerRefusal = (message: string): PostgresError =>
  new PostgresError({ message, code: REFUSED })

/** An error of the server, thrown by the code that ran the statement. */
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
 * 40), or upgraded the schema.
 */
export const isConflict = (error: unknown): boolean =>
  error instanceof PostgresError &&
  (error.code === '40001' || error.code === '40P01' || isOutdatedPlan(error))

/** Reports whether the error is about the statement or its values, and not about the server or the network. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof PostgresError && /^(0A|2[123]|42|54)/.test(error.code ?? '')

const FULL = /^53100$/
/**
 * Codes of errors that may be temporary. They are about servers that Posthaste refuses, the network, access, conflicts,
 * resources, locks, a stopping server, and TLS.
 */
const TRANSIENT =
  /^(PH001|08|28|3D000|40|53|55P03|57|25006|25P02|25P03|58|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES|CERT|ERR_TLS|UNABLE|SELF_SIGNED|DEPTH_ZERO)/
const DAMAGED = /^XX00[12]$/
/** Errors without a response of the server, so a commit may have happened. */
const UNANSWERED = /^(08|57P|E[A-Z])/

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [FULL, 'The disk of the database server is full: free some space there'],
  [/^(25006|57P03)/, 'The database server takes no writes now: it is starting, stopping, or a standby'],
  [/^53300$/, 'The database server has no connection left: raise max_connections, or stop what uses them up'],
  [/^(53|58)/, 'The database server is out of resources, or its disk failed: see its log'],
  [/^57014$/, 'A statement took too long: look for locks and load on the database server'],
  [/^28/, 'The database server refuses the user or password: check storage.url and storage.password_file'],
  [/^3D000$/, 'There is no such database on the server: create it, or check storage.url'],
  [
    /^(CERT|ERR_TLS|UNABLE|SELF_SIGNED|DEPTH_ZERO)/,
    'No trusted TLS connection to the database server: check storage.tls and storage.tls_ca',
  ],
  [DAMAGED, 'The database is damaged: keep its files, and restore the newest backup'],
  [
    /^(08|57P|E[A-Z])/,
    'The database server cannot be reached: check that it runs, and storage.url. Posthaste connects again by itself',
  ],
]

/**
 * Converts an error for the main thread.
 * @param committing whether the error came from the commit
 */
export function toPostgresFailure(error: unknown, committing = false): Failure {
  const { code, message } = toServerError(error)
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
