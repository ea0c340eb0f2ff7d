import Database from 'better-sqlite3'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { StorageFailure } from '../../../appliance/storage/engine/failures.ts'
import { createGroupCommit, type Call } from '../../../appliance/storage/engine/group-commit.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { makeTeam, newEmail, T0, putArgs } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

const call = (id: number, method: string): Call => ({ id, method, args: null, now: T0 })

async function makeDatabase(): Promise<Database.Database> {
  const db = new Database(join(await makePlace(), 'a.db'), { timeout: 50 })
  db.pragma('journal_mode = wal')
  db.pragma('foreign_keys = on')
  db.exec(
    'create table rows (n integer primary key, parent integer references rows (n) deferrable initially deferred)',
  )
  return db
}

const numbers = (db: Database.Database): unknown[] =>
  db.prepare('select n from rows order by n').pluck().all()

/** Runs each call's method as SQL. */
const sqlOn = (db: Database.Database) =>
  createGroupCommit(db, ({ method }) => db.prepare(method).run().changes)

describe('group commit', () => {
  test('group commit needs fewer than 100 commits for 500 concurrent puts', async () => {
    const storage = await openSqlite({ dataDir: await makePlace() })
    const { team } = await makeTeam(storage)
    const before = storage.stats()
    await Promise.all(
      Array.from({ length: 500 }, () => storage.put(putArgs(newEmail(team.id, ['a@x.example'])), T0)),
    )
    const after = storage.stats()
    expect(after.calls - before.calls).toBe(500)
    expect(after.commits - before.commits).toBeLessThan(100)
    await storage.close()
  })

  test('a connection that is lost at the rollback fails only its batch', async () => {
    const connection = {
      inTransaction: false,
      isLost: false,
      prepare: (text: string) => ({
        run() {
          const isRollback = text === 'rollback'
          connection.inTransaction = text === 'begin'
          if (isRollback && connection.isLost) throw new Error('read ECONNRESET')
        },
      }),
    }
    const conflict = new Error('conflict')
    const commit = createGroupCommit(
      connection as unknown as Parameters<typeof createGroupCommit>[0],
      ({ method }) => {
        connection.isLost = method === 'lost'
        if (method === 'lost') throw conflict
        return method
      },
      {
        begin: 'begin',
        pack: (error) => ({
          message: (error as Error).message,
          code: null,
          ambiguous: false,
          stack: undefined,
        }),
        isConflict: (error) => error === conflict,
        isOfCall: () => false,
      },
    )
    expect(await commit([call(1, 'lost')])).toMatchObject({
      committed: false,
      outcomes: [{ id: 1, failure: { message: 'conflict' } }],
    })
    expect(await commit([call(2, 'works')])).toMatchObject({
      committed: true,
      outcomes: [{ id: 2, value: 'works' }],
    })
  })

  test('a call that fails rolls back only its own changes', async () => {
    const db = await makeDatabase()
    const commit = createGroupCommit(db, async ({ id, method }) => {
      db.prepare(`insert into rows values (${id}, null)`).run()
      await Promise.resolve()
      if (method === 'bad') throw new Error('no')
      return id * 10
    })
    const batch = await commit([call(1, 'good'), call(2, 'bad'), call(3, 'good')])
    expect(batch).toMatchObject({
      committed: true,
      outcomes: [
        { id: 1, value: 10 },
        { id: 2, failure: { message: 'no', code: null, ambiguous: false } },
        { id: 3, value: 30 },
      ],
    })
    expect(numbers(db)).toEqual([1, 3])
  })

  test('calls batched with a failed one are applied exactly once', async () => {
    const db = await makeDatabase()
    db.exec('create table sums (n integer not null); insert into sums values (0)')
    const add = 'update sums set n = n + 1'
    const { outcomes } = await sqlOn(db)([
      call(1, add),
      call(2, 'insert into nowhere values (1)'),
      call(3, add),
    ])
    expect(outcomes.map((outcome) => 'failure' in outcome)).toEqual([false, true, false])
    expect(db.prepare('select n from sums').pluck().get()).toBe(2)
  })

  test('a failed commit fails the whole batch, and the next batch succeeds', async () => {
    const db = await makeDatabase()
    const commit = sqlOn(db)
    const batch = await commit([
      call(1, 'insert into rows values (1, null)'),
      call(2, 'insert into rows values (2, 77)'),
    ])
    const failure = { code: 'SQLITE_CONSTRAINT_FOREIGNKEY', ambiguous: false }
    expect(batch).toMatchObject({
      committed: false,
      outcomes: [
        { id: 1, failure },
        { id: 2, failure },
      ],
    })
    expect(numbers(db)).toEqual([])
    await commit([call(3, 'insert into rows values (3, null)')])
    expect(numbers(db)).toEqual([3])
  })

  test('reports a disk error during the commit as ambiguous', async () => {
    const db = await makeDatabase()
    const broken = new Proxy(db, {
      get: (target, name) => {
        if (name === 'inTransaction') return target.inTransaction
        if (name !== 'prepare') return Reflect.get(target, name) as unknown
        return (sql: string) => (sql === 'commit' ? { run: () => breakDisk() } : target.prepare(sql))
      },
    })
    const breakDisk = (): never => {
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC')
    }
    const { outcomes } = await createGroupCommit(broken, () => 1)([call(1, ''), call(2, '')])
    const kinds = outcomes.map((one) => 'failure' in one && new StorageFailure(one.failure).kind)
    expect(kinds).toEqual(['ambiguous', 'ambiguous'])
  })

  test('if SQLite rolls back the transaction itself, all calls of the batch fail', async () => {
    const db = await makeDatabase()
    const batch = await sqlOn(db)([
      call(1, 'insert into rows values (1, null)'),
      call(2, 'insert or rollback into rows values (1, null)'),
      call(3, 'insert into rows values (3, null)'),
    ])
    expect(batch.outcomes.map((outcome) => 'failure' in outcome && outcome.failure.ambiguous)).toEqual([
      false,
      false,
      false,
    ])
    expect(batch.outcomes).toHaveLength(3)
    expect(batch.outcomes.every((outcome) => 'failure' in outcome)).toBe(true)
    expect(numbers(db)).toEqual([])
  })

  test('quotas and counters of a batch stay exact when some calls fail or exceed the quota', async () => {
    const dataDir = await makePlace()
    const storage = await openSqlite({ dataDir })
    const { team } = await makeTeam(storage)
    const quota = { teamId: team.id, daily: 15, monthly: 100 }
    const scheduled = (teamId: string) =>
      storage.put(
        putArgs(newEmail(teamId, ['a@x.example'], T0, { domainId: 'd', scheduledAt: T0 + 1 }), { quota }),
        T0,
      )
    const teams = Array.from({ length: 24 }, (_, at) => (at % 8 === 3 ? 'nobody' : team.id))
    const results = await Promise.allSettled(teams.map(scheduled))
    const used = results.flatMap((result) =>
      result.status === 'fulfilled' && result.value.kind === 'stored' ? [result.value.usage!.daily] : [],
    )
    expect(used).toEqual(Array.from({ length: 15 }, (_, at) => at + 1))
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(2)
    expect(await storage.usage({ teamId: team.id }, T0)).toEqual({ daily: 15, monthly: 15 })
    await storage.close()
    const db = new Database(join(dataDir, 'posthaste.db'), { readonly: true })
    expect(db.prepare('select counter, n from metrics').all()).toEqual([{ counter: 'scheduled', n: 15 }])
    db.close()
  })

  test('reports that the database is locked by another process', async () => {
    const db = await makeDatabase()
    const other = new Database(db.name)
    other.exec('begin immediate')
    const { outcomes } = await sqlOn(db)([call(1, 'insert into rows values (1, null)')])
    expect(outcomes).toMatchObject([
      {
        failure: {
          code: 'SQLITE_BUSY',
          ambiguous: false,
          message: expect.stringContaining('Another process is holding the database') as string,
        },
      },
    ])
    other.close()
  })
})
