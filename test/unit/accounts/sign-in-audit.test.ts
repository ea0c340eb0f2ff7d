import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordAuditEntry } from '../../../appliance/accounts/audit.ts'
import { createSignInAudit } from '../../../appliance/accounts/sign-in-audit.ts'
import { firstIdAt } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { purgeAudit, type HousekeepingStorage } from '../../../appliance/housekeeping/housekeeping.ts'
import { createTestClock } from '../../world/clock.ts'

const DAY = 86_400_000
let dataDir: string
let storage: Storage & HousekeepingStorage
const clock = createTestClock()
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'posthaste-audit-'))
  storage = await openSqlite({ dataDir })
})
afterAll(async () => {
  await storage.close()
  await rm(dataDir, { recursive: true, force: true })
})
const all = async () => (await storage.listAudit({ limit: 100 }, clock.now())).items

test('failed sign-ins are limited to 30 audit entries a minute, and the next entry counts the omitted ones', async () => {
  const audit = createSignInAudit(storage, clock)
  for (let i = 0; i < 33; i++)
    await audit.refused({ userId: null, email: 'nobody@example.com', step: 'password', ip: '192.0.2.7' })
  expect(await all()).toHaveLength(30)
  await clock.advance(60_000)
  await audit.refused({ userId: null, email: 'correct horse battery', step: 'password' })
  expect((await all())[0]).toMatchObject({
    teamId: null,
    actor: '(not an address)',
    actorKind: 'user',
    action: 'session.create',
    after: { refused: 'wrong_credentials' },
    details: { step: 'password', not_written_before: 3 },
  })
})

test('old audit entries are purged except those of active hold rules, and 0 days keeps all', async () => {
  const at = clock.now()
  const rule = { id: firstIdAt(at - 900 * DAY), teamId: null, domain: 'x.example', provider: null, tag: null }
  const actor = { kind: 'system', name: 'x', ip: null } as const
  await storage.addHoldRule({ rule: { ...rule, createdAt: at }, most: 10 }, at)
  const entry = {
    teamId: null,
    at: at - 900 * DAY,
    actor: 'x',
    actorKind: 'command',
    actorName: null,
  } as const
  const about = { ip: null, action: 'queue.hold', target: 'queue', targetName: null } as const
  const what = { ...about, before: null, after: {}, details: {} }
  await storage.appendAudit({ entry: { ...entry, ...what, id: rule.id } }, at)
  await storage.appendAudit({ entry: { ...entry, ...what, id: firstIdAt(at - 800 * DAY) } }, at)
  await recordAuditEntry(storage, clock, { teamId: null, actor, action: 'domain.create', target: 'domain' })
  const before = (await all()).length
  expect(await purgeAudit(storage, clock, 0)).toBe(0)
  expect(await purgeAudit(storage, clock, 730)).toBe(1)
  expect(await all()).toHaveLength(before - 1)
  expect(await storage.getAudit({ id: rule.id }, at)).toMatchObject({ action: 'queue.hold' })
})
