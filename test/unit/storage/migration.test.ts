import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { applyMigrations, shippedMigrations } from '../../../appliance/storage/sqlite/migrate.ts'
import { createLease } from '../../../appliance/storage/spool/lease.ts'
import { createSettle } from '../../../appliance/storage/spool/settle.ts'
import { change, leaseArgs, MINUTE, T0 } from '../../contract/fixtures.ts'

test('what waited in the lane of its domain waits in an unplaced queue after 0009, in flight, held and final ones too', () => {
  const db = new Database(':memory:')
  const migrations = shippedMigrations()
  applyMigrations(
    db,
    migrations.filter(({ number }) => number < 9),
  )
  db.exec(`
    insert into teams (id, name, created_at) values ('t', 'Team', 0);
    insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header, reply_to,
      subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at, sent_at, created_at)
    values ('e', 't', 'd', null, 'rest', '', '[]', '[]', '[]', '[]', '', '[]', '[]', '[]', '', '', 0, 'sent', null, 1, 0);
    insert into recipients (id, team_id, email_id, recipient, field, lane, state, attempts, cause, created_at, updated_at)
    select id, 't', 'e', id || '@X.example', 'to', 'x.example', state, attempts, null, 1, 2 from (
      select 'due' as id, 'waiting' as state, 0 as attempts union all select 'flying', 'waiting', 3
      union all select 'held', 'waiting', 1 union all select 'done', 'delivered', 2);
    insert into deliveries (id, team_id, email_id, lane, domain, due_at, lease_owner, lease_until, held, attempts,
      created_at, expires_at) values
      ('due', 't', 'e', 'x.example', 'x.example', 5, null, null, 0, 0, 1, 9),
      ('flying', 't', 'e', 'x.example', 'x.example', 6, 'one', ${T0 + MINUTE}, 0, 3, 1, 9),
      ('held', 't', 'e', 'x.example', 'x.example', 7, null, null, 1, 1, 1, 9);
  `)
  applyMigrations(db, migrations)
  expect(db.prepare('select * from deliveries order by id').all()).toEqual([
    { ...row('due', 5), attempts: 0 },
    { ...row('flying', 6), attempts: 3, lease_owner: 'one', lease_until: T0 + MINUTE },
    { ...row('held', 7), attempts: 1, held: 1 },
  ])
  expect(db.prepare('select distinct pool, provider from recipients').all()).toEqual([
    { pool: 'default', provider: '?x.example' },
  ])
  expect(createLease(db)(leaseArgs(), T0)).toMatchObject([{ id: 'due', provider: '?x.example', attempts: 1 }])
  const changes = [change('flying', 'delivered')]
  expect(createSettle(db)({ owner: 'one', attempt: null, changes }, T0)).toEqual({ lost: [] })
  // The reference to recipients came along: who is erased does not wait any more.
  db.exec("delete from recipients where id = 'held'")
  expect(db.prepare('select id from deliveries').pluck().all()).toEqual(['due'])
  expect(db.pragma('foreign_key_check')).toEqual([])
})

const row = (id: string, due: number) => ({
  ...{
    id,
    team_id: 't',
    email_id: 'e',
    queue: 'default/?x.example/t/t',
    pool: 'default',
    provider: '?x.example',
  },
  ...{
    stream: 'transactional',
    domain: 'x.example',
    due_at: due,
    lease_owner: null,
    lease_until: null,
    held: 0,
  },
  ...{ created_at: 1, expires_at: 9, touched_by: null, pool_before: null },
})

test('0036 names the keys and domains of entries that are in the audit log already, where they are still there', () => {
  const db = new Database(':memory:')
  const migrations = shippedMigrations()
  applyMigrations(
    db,
    migrations.filter(({ number }) => number < 36),
  )
  db.exec(`
    insert into teams (id, name, created_at) values ('t', 'Team', 0);
    insert into api_keys (id, team_id, name, permission, domain_id, token_hash, created_at, last_used_at)
      values ('k', 't', 'CI', 'full_access', null, 'hash', 0, null);
    insert into audit_log (id, team_id, at, actor, actor_kind, ip, action, target, before, after, details) values
      ('1', 't', 1, 'k', 'api_key', null, 'api_key.update', 'api_key k', null, '{}', '{}'),
      ('2', 't', 2, 'gone', 'api_key', null, 'domain.verify', 'domain gone', null, '{}', '{}'),
      ('3', 't', 3, 'k', 'user', null, 'queue.hold', 'queue', null, '{}', '{}');
  `)
  applyMigrations(db, migrations)
  expect(db.prepare('select id, actor_name, target_name from audit_log order by id').all()).toEqual([
    { id: '1', actor_name: 'CI', target_name: 'CI' },
    { id: '2', actor_name: null, target_name: null },
    { id: '3', actor_name: null, target_name: null },
  ])
  expect(db.prepare('select prefix from api_keys').all()).toEqual([{ prefix: null }])
})

test('logged SMTP sessions have the code of their reply after 0035, and requests keep their status', () => {
  const db = new Database(':memory:')
  const migrations = shippedMigrations()
  applyMigrations(
    db,
    migrations.filter(({ number }) => number < 35),
  )
  db.exec("insert into teams (id, name, created_at) values ('t', 'Team', 0)")
  const insert = db.prepare(
    `insert into request_logs (id, team_id, api_key_id, method, endpoint, status, duration_ms, ip, user_agent,
       request_body, response_body, created_at) values (?, 't', 'k', ?, '', ?, 0, '', null, null, ?, 0)`,
  )
  const replies = (...said: string[]) =>
    JSON.stringify({ replies: said.map((reply) => ({ said: '', reply })) })
  insert.run('accepted', 'SMTP', 200, replies('250 2.1.0 Ok', '250 2.0.0 Queued as x'))
  insert.run('refused', 'SMTP', 400, replies('250 2.1.0 Ok', '550 5.7.1 No', '221 2.0.0 Bye'))
  insert.run('strange', 'SMTP', 403, null)
  insert.run('http', 'POST', 422, '{"message":"no"}')
  applyMigrations(db, migrations)
  expect(db.prepare('select id, status, query, message from request_logs order by id').all()).toEqual([
    { id: 'accepted', status: 250, query: null, message: null },
    { id: 'http', status: 422, query: null, message: null },
    { id: 'refused', status: 550, query: null, message: null },
    { id: 'strange', status: 403, query: null, message: null },
  ])
})
