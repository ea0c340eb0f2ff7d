import type { Connection } from './connection.ts'
import { pack } from './failures.ts'
import type { Call, Outcome } from './protocol.ts'

/** What became of a batch; `committed` tells whether the disk was asked at all. */
export interface Batch {
  outcomes: Outcome[]
  committed: boolean
}

/**
 * Makes the function that runs many calls in one commit: one wait for the disk, however many they are.
 * Each call has a savepoint, so one that fails takes back only its own. When BEGIN or COMMIT fails, or SQLite ends the
 * transaction by itself (full disk, I/O error), all of the batch fail. A failing ROLLBACK is thrown: the thread must die.
 */
export function createGroupCommit(
  db: Connection,
  run: (call: Call) => unknown,
): (calls: Call[]) => Promise<Batch> {
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const rollback = db.prepare('rollback')
  const savepoint = db.prepare('savepoint one_call')
  const release = db.prepare('release one_call')
  const takeBack = db.prepare('rollback to one_call')

  const one = async (call: Call): Promise<Outcome> => {
    savepoint.run()
    try {
      const value = await run(call)
      release.run()
      return { id: call.id, value }
    } catch (error) {
      if (!db.inTransaction) throw error
      takeBack.run()
      release.run()
      return { id: call.id, failure: pack(error) }
    }
  }

  return async (calls) => {
    let committing = false
    try {
      begin.run()
      const outcomes: Outcome[] = []
      for (const call of calls) outcomes.push(await one(call))
      committing = true
      commit.run()
      return { outcomes, committed: true }
    } catch (error) {
      if (db.inTransaction) rollback.run()
      const failure = pack(error, committing)
      return { outcomes: calls.map(({ id }) => ({ id, failure })), committed: false }
    }
  }
}
