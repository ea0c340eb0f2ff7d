/** The group commit: many calls in one transaction, and what they raise together, which is written once. */
import { setTimeout } from 'node:timers/promises'
import { crashAtCommit } from '../../watch/crash-points.ts'
import type { Connection } from '../connection.ts'
import { type Failure, pack } from './failures.ts'

/** One method call on its way to a storage thread. */
export interface Call {
  id: number
  method: string
  args: unknown
  now: number
}

/** What became of a call. */
export type Outcome = { id: number; value: unknown } | { id: number; failure: Failure }

/** What became of a batch; `committed` tells whether the disk was asked at all. */
export interface Batch {
  outcomes: Outcome[]
  committed: boolean
  /** Events were stored, so that somebody may have to be told. */
  told?: boolean
}

/**
 * Makes the function that runs many calls in one commit: one wait for the disk, however many they are.
 * One that fails takes back only its own: then all of the batch run again, each with a savepoint. Savepoints from the start
 * would copy every page that a call changes, 14 microseconds for an email, and calls hardly ever fail. So a method may run twice, and
 * nothing but the database may remember that it ran, or what is gathered; that a lease counts its turns twice then is no harm.
 * When BEGIN or COMMIT fails, or SQLite ends the transaction by itself (full disk, I/O error), all of the batch fail.
 * A failing ROLLBACK is thrown: the thread must die.
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
  const gathering = gatheringOn(db)

  const together = async (calls: Call[]): Promise<Outcome[]> => {
    const outcomes: Outcome[] = []
    for (const call of calls) {
      const value = run(call)
      // The hot methods are no promises; each wait for one is a turn of the queue of microtasks.
      outcomes.push({
        id: call.id,
        value: value instanceof Promise ? await (value as Promise<unknown>) : value,
      })
    }
    gathering.write()
    rules.flush()
    return outcomes
  }
  const runAll = async (calls: Call[]): Promise<Outcome[]> => {
    try {
      return await together(calls)
    } catch (error) {
      if (!db.inTransaction || rules.isConflict(error)) throw error
      rollback.run()
      gathering.forget()
      begin.run()
      return apart(calls)
    }
  }

  const once = async (calls: Call[], mayConflict: boolean): Promise<Batch | 'conflict'> => {
    let committing = false
    gathering.grouped = true
    try {
      begin.run()
      const outcomes = await runAll(calls)
      committing = true
      crashAtCommit(calls, 'before')
      commit.run()
      crashAtCommit(calls, 'after')
      return { outcomes, committed: true }
    } catch (error) {
      if (db.inTransaction) rollback.run()
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

/** Runs a batch again while it meets other writers; the last attempt may not. */
async function untilSettled(once: (mayConflict: boolean) => Promise<Batch | 'conflict'>): Promise<Batch> {
  for (let attempt = 1; ; attempt += 1) {
    const batch = await once(attempt < MOST_ATTEMPTS)
    if (batch !== 'conflict') return batch
    await setTimeout(Math.random() * attempt * LONGEST_PAUSE)
  }
}

/** What the group commit knows of its engine. */
export interface CommitRules {
  /** The statement that begins a transaction. */
  begin: string
  pack: typeof pack
  /** Whether the whole transaction must run again, since another one wrote what it had read. */
  isConflict(error: unknown): boolean
  /** Sends statements that wait, so that what fails fails before the commit. */
  flush(): void
}

const SQLITE: CommitRules = {
  begin: 'begin immediate',
  pack,
  isConflict: () => false,
  flush: () => undefined,
}

/** How often a batch is run that meets other writers, and how long it pauses after its first attempt at most (milliseconds). */
const MOST_ATTEMPTS = 20
const LONGEST_PAUSE = 5

/** Makes the function that runs calls within a transaction, each with a savepoint. Throws when the transaction is over. */
function createApart(
  db: Connection,
  run: (call: Call) => unknown,
  rules: CommitRules,
): (calls: Call[]) => Promise<Outcome[]> {
  const savepoint = db.prepare('savepoint one_call')
  const release = db.prepare('release one_call')
  const takeBack = db.prepare('rollback to one_call')

  const gathering = gatheringOn(db)

  const one = async (call: Call): Promise<Outcome> => {
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
    const outcomes: Outcome[] = []
    for (const call of calls) outcomes.push(await one(call))
    return outcomes
  }
}

/** Numbers in memory that belong to the transaction. */
export interface Gathered {
  /** Writes them; then nothing is gathered. */
  write(): void
  /** The transaction was taken back: so are they. */
  forget(): void
}

/** All that is gathered on one connection. */
class Gathering {
  /** Whether somebody calls `write` at the end of the transaction; else each call is one. */
  grouped = false
  readonly #db: Connection
  readonly #all = new Map<unknown, Gathered>()

  constructor(db: Connection) {
    this.#db = db
  }

  /** What `create` makes of the connection, made once. */
  of<T extends Gathered>(create: (db: Connection) => T): T {
    let found = this.#all.get(create) as T | undefined
    if (!found) this.#all.set(create, (found = create(this.#db)))
    return found
  }

  /** Has to be called before anything reads what is gathered, and before the commit. */
  write(): void {
    for (const one of this.#all.values()) one.write()
  }

  /** The end of a call that has gathered. */
  written(): void {
    if (!this.grouped) this.write()
  }

  forget(): void {
    for (const one of this.#all.values()) one.forget()
  }
}

const gatherings = new WeakMap<Connection, Gathering>()

/** What is gathered on a connection. */
export function gatheringOn(db: Connection): Gathering {
  let found = gatherings.get(db)
  if (!found) gatherings.set(db, (found = new Gathering(db)))
  return found
}
