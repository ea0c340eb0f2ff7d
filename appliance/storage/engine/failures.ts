/** Errors of the engine: their messages for the operator, and how they are sent between threads. */

/**
 * Why a call failed, for callers that don't depend on the engine. full: the disk or a quota on it is full · transient:
 * a problem with the disk, its permissions or too many open files, which may pass · ambiguous: the commit itself
 * failed, and it is unknown whether it took effect; a caller that repeats the call must handle both cases · damaged:
 * the database is corrupt
 */
export type FailureKind = 'full' | 'transient' | 'ambiguous' | 'damaged'

/** A call failed. Nothing was changed unless the failure is `ambiguous`. */
export class StorageFailure extends Error {
  /** The engine's code, such as `SQLITE_FULL`, for the log; null for other errors. */
  readonly code: string | null
  /** Kind of failure; null if the call itself was at fault. */
  readonly kind: FailureKind | null

  constructor(failure: Failure) {
    super(failure.message)
    this.name = 'StorageFailure'
    this.code = failure.code
    this.kind = failure.kind === undefined ? kindOf(failure) : failure.kind
    if (failure.stack !== undefined) this.stack = failure.stack
  }
}

/** A storage thread has stopped. Calls won't be answered anymore, so the daemon must be restarted. */
export class StorageLost extends Error {
  /** Ambiguous, because the thread's last commit may be on disk. */
  readonly kind = 'ambiguous' satisfies FailureKind

  constructor(reason: string) {
    super(
      `The storage stopped working: ${reason}. Nothing is lost that was accepted before. Restart the daemon.`,
    )
    this.name = 'StorageLost'
  }
}

/** The database can't be used in its current state. The message says how to fix it. Nothing was changed. */
export class StorageRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'StorageRefused'
  }
}

/** An error as plain data, because a structured clone would drop the code. */
export interface Failure {
  message: string
  code: string | null
  /** Whether the commit itself failed, so that it is unknown whether the change was stored. */
  ambiguous: boolean
  stack: string | undefined
  /** The kind of failure, if the engine has determined it; otherwise, it is derived from the code. */
  kind?: FailureKind | null
}

const advice: readonly (readonly [prefix: string, sentence: string])[] = [
  ['SQLITE_FULL', 'The disk is full: free some space under the data directory'],
  [
    'SQLITE_BUSY',
    'Another process is holding the database for too long: look for a running posthaste command or backup',
  ],
  [
    'SQLITE_CORRUPT',
    'The database is damaged: stop the daemon, keep the files, and restore the newest backup',
  ],
  [
    'SQLITE_NOTADB',
    'The file is not a database, or its beginning is damaged: keep it, and restore the newest backup',
  ],
  [
    'SQLITE_READONLY',
    'The database cannot be written: check the owner and permissions of the data directory and of all files in it',
  ],
  [
    'SQLITE_CANTOPEN',
    'The database cannot be opened: check the owner and permissions of the data directory and of all files in it',
  ],
  ['SQLITE_IOERR', 'The disk reported an error: check the kernel log and the disk'],
]

const FULL = /^(SQLITE_FULL|ENOSPC|EDQUOT)/
const TRANSIENT =
  /^(SQLITE_(IOERR|READONLY|CANTOPEN|BUSY|NOMEM|PROTOCOL)|EROFS|EIO|EACCES|EPERM|EMFILE|ENFILE)/

function kindOf({ code, ambiguous }: Failure): FailureKind | null {
  if (ambiguous) return 'ambiguous'
  if (code === null) return null
  if (FULL.test(code)) return 'full'
  if (TRANSIENT.test(code)) return 'transient'
  return code.startsWith('SQLITE_CORRUPT') ? 'damaged' : null
}

/**
 * Converts an error to data, with advice for some SQLite codes.
 * @param committing whether the error came from the commit; then the state on disk is unknown, unless SQLite refused
 * the commit because of a constraint
 */
export function toFailure(error: unknown, committing = false): Failure {
  if (!(error instanceof Error))
    return { message: String(error), code: null, ambiguous: committing, stack: undefined }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  const ambiguous = committing && code?.startsWith('SQLITE_CONSTRAINT') !== true
  const sentence = advice.find(([prefix]) => code?.startsWith(prefix))?.[1]
  const message = sentence === undefined ? error.message : `${sentence} (${code}: ${error.message}).`
  return { message, code, ambiguous, stack: error.stack }
}
