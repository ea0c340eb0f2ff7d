import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EngineStorage } from '../../../../appliance/storage/assembly.ts'
import { methodsByNoun } from '../../../../appliance/storage/nouns.ts'
import { PostgresConnection } from '../../../../appliance/storage/postgres/connection.ts'
import { migrate } from '../../../../appliance/storage/postgres/migrate.ts'
import { openPostgres } from '../../../../appliance/storage/postgres/postgres.ts'
import type { StoredEmail } from '../../../../appliance/storage/spool/put.ts'
import { createGroupCommit } from '../../../../appliance/storage/engine/group-commit.ts'
import {
  change,
  leaseArgs,
  makeTeam,
  newAttempt,
  newEmail,
  putArgs,
  putEmail,
  T0,
} from '../../../contract/fixtures.ts'
import { openDatabaseLine } from '../../../world/database-line.ts'
import { createSuppressionCause } from '../../../../appliance/mail/suppression.ts'
import { findPostgresPrograms, startCluster, type Cluster } from './cluster.ts'

const programs = findPostgresPrograms()

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster(programs, { safe: true })
})
afterAll(() => cluster?.close())

describe('PostgreSQL statements', () => {
  let db: PostgresConnection
  let teamId: string
  let url: string
  beforeAll(async () => {
    url = await cluster.createDatabase()
    const storage = await openPostgres({ url })
    teamId = (await makeTeam(storage)).team.id
    await storage.close()
    db = new PostgresConnection({ url })
    db.readReferences()
  })
  afterAll(() => db.close())

  const stored = (recipient: string): StoredEmail => {
    const { message, ...email } = newEmail(teamId, [recipient])
    return { ...email, body: message, size: message.length }
  }
  /**
   * Returns the number of statements of one commit of several calls, including begin and commit, and how often the thread
   * waited for the server.
   */
  async function statements(
    run: (n: number) => unknown,
    calls: number,
  ): Promise<{ sent: number; waits: number }> {
    const before = { sent: db.sent, waits: db.waits }
    const commit = createGroupCommit(db, ({ id }) => run(id), db.rules)
    const { outcomes } = await commit(
      Array.from({ length: calls }, (_, id) => ({ id, method: '', args: {}, now: T0 })),
    )
    expect(outcomes.filter((outcome) => 'failure' in outcome)).toEqual([])
    return { sent: db.sent - before.sent, waits: db.waits - before.waits }
  }

  test('statements are batched across calls, and shared lookups run once', async () => {
    const put = methodsByNoun.accepting.prepared.put(db)
    const accept = (n: number) => put({ emails: [stored(`a${n}@x.example`)], receipt: null, quota: null }, T0)
    // Each call asks whether its address is suppressed. The team's erasures, the hold rules and the provider are asked
    // for once. Emails, messages and deliveries take one statement each for 64 calls.
    expect(await statements(accept, 1)).toEqual({ sent: 2 + 4 + 3, waits: 4 + 1 })
    expect(await statements(accept, 64)).toEqual({ sent: 2 + 3 + 64 + 3, waits: 3 + 64 + 1 })
  })

  test('statements of a batch see the changes of earlier calls in the batch', async () => {
    const put = methodsByNoun.accepting.prepared.put(db)
    const accept = (n: number) => put({ emails: [stored(`b${n}@x.example`)], receipt: null, quota: null }, T0)
    const held = db.prepare<[], { n: number }>("select count(*) as n from deliveries where state = 'held'")
    const rule = db.prepare(
      "insert into hold_rules (id, team_id, domain, provider, tag_name, tag_value, created_at) values (?, null, 'x.example', null, null, null, 0)",
    )
    const before = held.get()!.n
    await statements((n) => (n === 1 ? rule.run('rule') : accept(n)), 3)
    expect(held.get()!.n - before).toBe(1)
    db.prepare('delete from hold_rules').run()
    db.prepare("delete from deliveries where state = 'held'").run()
  })

  test('statements delayed by a transaction that lost its connection are not run by the next transaction', async () => {
    // The server's last message arrives some time before the end of the connection.
    const line = await openDatabaseLine(url, mkdtempSync(join(tmpdir(), 'posthaste-line-')), true)
    const own = new PostgresConnection({ url: line.url })
    const rule = own.prepare(
      'insert into hold_rules (id, team_id, domain, provider, tag_name, tag_value, created_at) values (?, null, ?, null, null, null, 0)',
    )
    const [first] = own.query('select pg_backend_pid() as pid', []).rows
    own.prepare('begin').run()
    own.prepare('select 1').all()
    rule.run('lost', 'x.example')
    db.query('select pg_terminate_backend($1)', [first!.pid])
    expect(() => own.prepare('select 1').all()).toThrow(/administrator|was lost/)
    expect(own.inTransaction).toBe(false)
    own.prepare('begin').run()
    rule.run('kept', 'y.example')
    own.prepare('commit').run()
    expect(own.query('select id from hold_rules', []).rows).toEqual([{ id: 'kept' }])
    own.prepare('delete from hold_rules').run()
    own.close()
    await line.close()
  })

  test('the number of statements of a lease does not grow with its size, except for event rows', async () => {
    const lease = methodsByNoun.leasing.prepared.lease(db)
    const counts: { sent: number; waits: number }[] = []
    for (const limit of [1, 16, 48]) counts.push(await statements(() => lease(leaseArgs({ limit }), T0), 1))
    expect(counts.map(({ sent }) => sent)).toEqual([10, 10, 12])
    expect(counts.map(({ waits }) => waits)).toEqual([6, 6, 6])
  })

  test('statements that settle delivered emails are batched', async () => {
    const [put, lease, settle] = [
      methodsByNoun.accepting.prepared.put(db),
      methodsByNoun.leasing.prepared.lease(db),
      methodsByNoun.settling.prepared.settle(db),
    ]
    const emails = Array.from({ length: 17 }, () => newEmail(teamId, ['a@y.example']))
    const bodies = emails.map(({ message, ...rest }) => ({ ...rest, body: message, size: message.length }))
    await statements(() => put({ emails: bodies, receipt: null, quota: null }, T0), 1)
    const leased = new Map<string, string>()
    await statements(() => {
      for (const { id, emailId } of lease(leaseArgs({ owner: 'two', limit: 1000, roomElse: 1000 }), T0))
        leased.set(emailId, id)
    }, 1)
    const end = (email: (typeof emails)[number]) => {
      const id = leased.get(email.id)!
      const changes = [change(id, 'delivered', 'email.delivered')]
      expect(settle({ owner: 'two', attempt: newAttempt(email, [id]), changes }, T0)).toEqual({ lost: [] })
    }
    // Each updates its delivery and its email. Attempts, events and metrics take one statement each for 16 calls.
    // Only the update of a delivery has a result to wait for.
    expect(await statements(() => end(emails[16]!), 1)).toEqual({ sent: 2 + 2 + 3, waits: 1 + 1 })
    expect(await statements((n) => end(emails[n]!), 16)).toEqual({ sent: 2 + 16 * 2 + 3, waits: 16 + 1 })
  })

  test('statements for an email to a suppressed address are batched with those before it', async () => {
    const [put, lease, settle] = [
      methodsByNoun.accepting.prepared.put(db),
      methodsByNoun.leasing.prepared.lease(db),
      methodsByNoun.settling.prepared.settle(db),
    ]
    const sent = stored('a@z.example')
    await statements(() => put({ emails: [sent], receipt: null, quota: null }, T0), 1)
    let id = ''
    await statements(() => (id = lease(leaseArgs({ owner: 'two', limit: 1000 }), T0)[0]!.id), 1)
    const refused = stored('b@z.example')
    refused.deliveries[0]!.suppressed = createSuppressionCause({ origin: 'manual' })
    const calls = [
      () => {
        const changes = [change(id, 'delivered', 'email.delivered')]
        settle({ owner: 'two', attempt: newAttempt(sent, [id]), changes }, T0)
      },
      () => put({ emails: [refused], receipt: null, quota: null }, T0),
    ]
    // If an event came before its email, the calls would run again one by one: 35 statements.
    expect((await statements((n) => calls[n]!(), 2)).sent).toBe(15)
  })

  test('a delayed statement that fails undoes only its own call', async () => {
    const rule = db.prepare(
      'insert into hold_rules (id, team_id, domain, provider, tag_name, tag_value, created_at) values (?, null, ?, null, null, null, 0)',
    )
    const touch = db.prepare('update hold_rules set created_at = ? where id = ?')
    const calls = [
      () => rule.run('first', 'x.example'),
      () => touch.run('no number', 'first'),
      () => rule.run('last', 'y.example'),
    ]
    const commit = createGroupCommit(db, ({ id }) => void calls[id]!(), db.rules)
    const { outcomes, committed } = await commit(
      calls.map((_, id) => ({ id, method: '', args: {}, now: T0 })),
    )
    expect(committed).toBe(true)
    expect(outcomes.map((one) => ('failure' in one ? one.failure.code : 'done'))).toEqual([
      'done',
      '22P02',
      'done',
    ])
    expect(db.query('select id, created_at from hold_rules order by id', []).rows).toEqual([
      { id: 'first', created_at: 0 },
      { id: 'last', created_at: 0 },
    ])
    db.prepare('delete from hold_rules').run()
  })

  test('after a transaction without statements was rolled back, a statement is its own transaction', () => {
    db.prepare('begin').run()
    db.prepare('rollback').run()
    expect(db.inTransaction).toBe(false)
    db.prepare('update teams set name = ?').run('renamed')
    const other = new PostgresConnection({ url })
    expect(other.query('select name from teams', []).rows).toEqual([{ name: 'renamed' }])
    other.close()
  })
})

describe('a PostgreSQL server', () => {
  let url: string
  let storage: EngineStorage
  beforeAll(async () => {
    url = await cluster.createDatabase()
    storage = await openPostgres({ url })
  })
  afterAll(() => storage?.close())

  test('renews the node’s lease even while writes on the server wait for a lock', async () => {
    const node = { id: 'aaaaaaaaaaaaaaaa', run: '1', facts: '{}' }
    await storage.joinNode({ ...node, name: 'mail1' }, T0)
    const other = new PostgresConnection({ url })
    other.prepare('begin').run()
    other.query('lock table teams', [])
    const waiting = makeTeam(storage)
    const renewed = await storage.renewNode({ ...node, state: 'active', lostAfter: 600_000 }, T0)
    expect(renewed).toMatchObject({ alive: 1, lost: false })
    other.prepare('commit').run()
    await waiting
    other.close()
  })

  test('the server ends idle transactions after ten seconds', () => {
    const other = new PostgresConnection({ url })
    const [setting] = other.query('show idle_in_transaction_session_timeout', []).rows
    expect(setting).toEqual({ idle_in_transaction_session_timeout: '10s' })
    other.close()
  })

  test('a stopped server causes transient errors, loses nothing, and is used again when it is back', async () => {
    const { team } = await makeTeam(storage)
    const kept = await putEmail(storage, team.id, ['a@x.example'])
    await cluster.stop()
    const refused = newEmail(team.id, ['b@x.example'])
    await expect(storage.put(putArgs(refused), T0)).rejects.toMatchObject({ kind: 'transient' })
    await expect(storage.getEmail({ teamId: team.id, id: kept.id }, T0)).rejects.toMatchObject({
      kind: 'transient',
      message: expect.stringMatching(/^The database server cannot be reached/) as string,
    })
    await cluster.start()
    const later = await putEmail(storage, team.id, ['c@x.example'])
    const { items } = await storage.listEmails({ teamId: team.id, limit: 10 }, T0)
    expect(items.map(({ id }) => id).sort()).toEqual([kept.id, later.id].sort())
    expect(await storage.getMessage({ emailId: kept.id }, T0)).toEqual(new Uint8Array(kept.message))
  })

  test('an unreachable server or missing database is reported with what to do', async () => {
    await expect(openPostgres({ url: 'postgres://posthaste@127.0.0.1:1/none' })).rejects.toThrow(
      /^The database server cannot be reached: check that it runs, and storage\.url\./,
    )
    await expect(openPostgres({ url: url.replace(/test_\d+/, 'nothing') })).rejects.toThrow(
      /^There is no such database on the server: create it, or check storage\.url/,
    )
  })

  test('a database of another program is rejected and left unchanged', async () => {
    const foreign = await cluster.createDatabase()
    const db = new PostgresConnection({ url: foreign })
    db.script('create table theirs (id integer)')
    await expect(openPostgres({ url: foreign })).rejects.toThrow(/belongs to another program/)
    expect(
      db.prepare('select count(*) as n from pg_tables where schemaname = current_schema()').all(),
    ).toEqual([{ n: 1 }])
    // A finished step isn't repeated.
    db.script('drop table theirs')
    migrate(db)
    migrate(db)
    db.close()
  })

  test('a server with settings that could lose mail is rejected', async () => {
    const setting = new PostgresConnection({ url: await cluster.createDatabase() })
    setting.script('alter system set full_page_writes = off; ')
    setting.script('select pg_reload_conf()')
    setting.close()
    await expect
      .poll(() =>
        openPostgres({ url }).then(
          (opened) => opened.close(),
          (error: Error) => error.message,
        ),
      )
      .toMatch(/^The database server runs with full_page_writes = off, so accepted mail could be lost/)
  })
})
