/** Group commit: runs many calls in one transaction, and writes their shared counters once. */
import { setTimeout } from 'node:timers/promises'
import { crashAtCommit } from '../../watch/crash-points.ts'
import type { Connection, Statement } from '../connection.ts'
import { type Failure, toFailure } from './failures.ts'

/** A method call to a storage thread. */
export interface Call {
  id: number
  method: string
  args: unknown
  now: number
}

/** The result of a call. */
export type CallResult = { id: number; value: unknown } | { id: number; failure: Failure }

/** The result of a batch. `committed`: whether a commit reached the disk. */
export interface Batch {
  outcomes: CallResult[]
  committed: boolean
  /** Whether events were stored, so that listeners must be notified. */
  told?: boolean
}

/**
 * Creates the function that runs many calls in one commit, with one wait for the disk. If a call fails, only its own
 * changes are undone: the whole batch runs again, each call with a savepoint. Using savepoints from the start would
 * copy every page that a call changes, 14 microseconds per email, and calls rarely fail. Therefore, a method may run
 * twice, and may keep state only in the database or in pending counters; a lease that counts its turns twice does no
 * harm. If BEGIN or COMMIT fails, or SQLite ends the transaction by itself (full disk, I/O error), the whole batch
 * fails. If ROLLBACK fails and leaves the transaction open, the error is thrown, and the thread must end.
 */
export function createGroupCommit(
  db: Connection,
  run: (call: Call) => unknown,
  rules: CommitRules = SQLITE,
): (calls: Call[]) => Promise<Batch> {
  const begin = db.prepare(rules.begin)
  const commit = db.prepare('commit')
  const rollback = db.prepare('rollback')
  const apart = createApart(db, run, rules)
  const gathering = getPendingCounters(db)

  const together = async (calls: Call[]): Promise<CallResult[]> => {
    const outcomes: CallResult[] = []
    for (const call of calls) {
      const value = run(call)
      // Hot methods don't return promises; awaiting each value would cost a turn of the microtask queue.
      outcomes.push({
        id: call.id,
        value: value instanceof Promise ? await (value as Promise<unknown>) : value,
      })
    }
    gathering.write()
    return outcomes
  }

  const once = async (calls: Call[], mayConflict: boolean): Promise<Batch | 'conflict'> => {
    let committing = false
    const commitAll = async (runAll: typeof together): Promise<Batch> => {
      committing = false
      begin.run()
      const outcomes = await runAll(calls)
      committing = true
      crashAtCommit(calls, 'before')
      commit.run()
      crashAtCommit(calls, 'after')
      return { outcomes, committed: true }
    }
    const isOfCall = (error: unknown): boolean =>
      committing ? rules.isOfCall(error) : db.inTransaction && !rules.isConflict(error)

    gathering.grouped = true
    try {
      return await commitAll(together).catch((error: unknown) => {
        if (!isOfCall(error)) throw error
        endTransaction(db, rollback)
        gathering.forget()
        return commitAll(apart)
      })
    } catch (error) {
      endTransaction(db, rollback)
      gathering.forget()
      if (mayConflict && rules.isConflict(error)) return 'conflict'
      const failure = rules.pack(error, committing)
      return { outcomes: calls.map(({ id }) => ({ id, failure })), committed: false }
    } finally {
      gathering.grouped = false
    }
  }

  return (calls) => untilSettled((mayConflict) => once(calls, mayConflict))
}

/** Rolls back, unless the transaction has ended. Throws only if it is still open afterwards. */
function endTransaction(db: Connection, rollback: Statement<unknown[], unknown>): void {
  if (!db.inTransaction) return
  try {
    rollback.run()
  } catch (error) {
    // If the transaction isn't open, the connection to the server was lost, and the transaction with it.
    if (db.inTransaction) throw error
  }
}

/** Repeats a batch while it conflicts with other writers. On the last attempt, a conflict becomes an error. */
async function untilSettled(once: (mayConflict: boolean) => Promise<Batch | 'conflict'>): Promise<Batch> {
  for (let attempt = 1; ; attempt += 1) {
    const batch = await once(attempt < MOST_ATTEMPTS)
    if (batch !== 'conflict') return batch
    await setTimeout(Math.random() * attempt * LONGEST_PAUSE)
  }
}

/** The engine-specific parts of a group commit. */
export interface CommitRules {
  /** The statement that begins a transaction. */
  begin: string
  pack: typeof toFailure
  /** Whether the whole transaction must run again, because another one changed data that it had read. */
  isConflict(error: unknown): boolean
  /** Whether an error of the commit came from a delayed statement of one of the calls, so that the others may succeed. */
  isOfCall(error: unknown): boolean
}

const SQLITE: CommitRules = {
  begin: 'begin immediate',
  pack: toFailure,
  isConflict: () => false,
  isOfCall: () => false,
}

/** Maximum number of attempts for a conflicting batch, and maximum pause after the first attempt, in milliseconds. */
const MOST_ATTEMPTS = 20
const LONGEST_PAUSE = 5

/**
 * Creates the function that runs calls within a transaction, each with its own savepoint. Throws if the transaction has
 * ended.
 */
function createApart(
  db: Connection,
  run: (call: Call) => unknown,
  rules: CommitRules,
): (calls: Call[]) => Promise<CallResult[]> {
  const savepoint = db.prepare('savepoint one_call')
  const release = db.prepare('release one_call')
  const takeBack = db.prepare('rollback to one_call')

  const gathering = getPendingCounters(db)

  const one = async (call: Call): Promise<CallResult> => {
    savepoint.run()
    try {
      const value = await run(call)
      gathering.write()
      release.run()
      return { id: call.id, value }
    } catch (error) {
      gathering.forget()
      if (!db.inTransaction || rules.isConflict(error)) throw error
      takeBack.run()
      release.run()
      return { id: call.id, failure: rules.pack(error) }
    }
  }
  return async (calls) => {
    const outcomes: CallResult[] = []
    for (const call of calls) outcomes.push(await one(call))
    return outcomes
  }
}

/** Counters in memory whose changes belong to the current transaction. */
export interface PendingCounters {
  /** Writes the counters to the database and clears them. */
  write(): void
  /** Clears the counters after a rollback. */
  forget(): void
}

/** All pending counters of one connection. */
class PendingCounterGroup {
  /** Whether a group commit calls `write` at the end of the transaction. If not, each call is a transaction. */
  grouped = false
  readonly #db: Connection
  readonly #all = new Map<unknown, PendingCounters>()

  constructor(db: Connection) {
    this.#db = db
  }

  /** Returns the result of `create` for the connection. Calls `create` only once. */
  of<T extends PendingCounters>(create: (db: Connection) => T): T {
    let found = this.#all.get(create) as T | undefined
    if (!found) this.#all.set(create, (found = create(this.#db)))
    return found
  }

  /** Writes all pending counters. Call it before they are read, and before the commit. */
  write(): void {
    for (const one of this.#all.values()) one.write()
  }

  /** Called at the end of a call that has changed pending counters. */
  written(): void {
    if (!this.grouped) this.write()
  }

  forget(): void {
    for (const one of this.#all.values()) one.forget()
  }
}

const gatherings = new WeakMap<Connection, PendingCounterGroup>()

/** Returns the pending counters of a connection. */
export function getPendingCounters(db: Connection): PendingCounterGroup {
  let found = gatherings.get(db)
  if (!found) gatherings.set(db, (found = new PendingCounterGroup(db)))
  return found
}
