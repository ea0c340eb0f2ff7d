import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createOutbox } from '../../../appliance/events/outbox.ts'
import { LOST_MS } from '../../../appliance/mail/node.ts'
import { openSqlite, type SqliteStorage } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createDuties } from '../../../appliance/watch/duties.ts'
import type { NodeStatus } from '../../../appliance/watch/heartbeat.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { makeTeam, putEmail, T0 } from '../../contract/fixtures.ts'
import { createTestClock } from '../../world/clock.ts'
import { makePlace } from '../storage/places.ts'

const MINUTE = 60_000
const clock = createTestClock()
/** A clock that doesn't move by itself. */
let time = T0
const still = { now: () => time }
/** Two nodes on one storage. */
let here: SqliteStorage
let there: SqliteStorage

const open = (storage: SqliteStorage, owner: string, node?: Pick<NodeStatus, 'fenced' | 'fences'>) =>
  createDuties({ storage, clock: still, owner, lostAfter: LOST_MS, ...(node && { node }) })

beforeEach(async () => {
  const dataDir = join(await makePlace(), 'data')
  ;[here, there] = [await openSqlite({ dataDir }), await openSqlite({ dataDir })]
})
afterEach(() => Promise.all([here.close(), there.close()]))

test('a node keeps a duty while active, and another takes over two minutes after its last renewal', async () => {
  const one = open(here, 'here/1').of('outbox')
  const two = open(there, 'there/1').of('outbox')
  expect([await one(), await two()]).toEqual([true, false])
  for (let minutes = 0; minutes < 5; minutes += 1) {
    time += MINUTE
    expect([await one(), await two()]).toEqual([true, false])
  }
  time += 2 * MINUTE - 1
  expect(await two()).toBe(false)
  time += 1
  expect([await two(), await one()]).toEqual([true, false])
})

test('duties are assigned independently of each other', async () => {
  const one = open(here, 'here/1')
  const two = open(there, 'there/1')
  expect([await one.of('outbox')(), await two.of('reports')()]).toEqual([true, true])
  expect([await two.of('outbox')(), await one.of('reports')()]).toEqual([false, false])
})

test('a restarted node keeps its duties, and after a clean stop another node may acquire them', async () => {
  await open(here, 'here/1').of('outbox')()
  const run = open(here, 'here/2')
  expect(await run.of('outbox')()).toBe(true)
  const other = open(there, 'there/1').of('outbox')
  expect(await other()).toBe(false)
  await run.release()
  expect(await other()).toBe(true)
})

test('another node takes over from a lost node at once, which notices when it returns', async () => {
  const lost = { id: 'lost', run: '1' }
  await here.joinNode({ ...lost, name: 'lost', facts: '{}' }, T0)
  let [reason, fences]: [string | null, number] = [null, 0]
  const node = { fenced: () => reason, fences: () => fences }
  const first = open(here, 'lost/1', node)
  const [one, turn] = [first.of('outbox'), first.turn('certificates')]
  const other = open(there, 'there/1')
  expect([await one(), await turn.take()]).toEqual([true, true])
  expect([await other.of('outbox')(), await other.turn('certificates').take()]).toEqual([false, false])

  reason = 'no heartbeat'
  expect([await one(), await turn.take()]).toEqual([false, false])
  reason = null
  expect(await one()).toBe(true)

  // Suspended: nothing asked for the duty while the node was fenced.
  await here.stopNode(lost, T0)
  expect([await other.of('outbox')(), await other.turn('certificates').take()]).toEqual([true, true])
  fences = 1
  expect([await one(), await turn.take()]).toEqual([false, false])
  expect(await other.of('outbox')()).toBe(true)
})

test('setting the clock back does not block a duty', async () => {
  const duty = open(here, 'here/1').of('outbox')
  expect(await duty()).toBe(true)
  time -= 60 * MINUTE
  expect(await duty()).toBe(true)
  const other = open(there, 'there/1').of('outbox')
  time += 2 * MINUTE
  expect(await other()).toBe(true)
})

test('an idle node writes nothing, and only one of two nodes drains the outbox', async () => {
  const { team } = await makeTeam(here)
  const outbox = (storage: SqliteStorage, owner: string) =>
    createOutbox({
      storage,
      clock,
      log: createSilentLogger(),
      pollMs: 1000,
      onStored: () => undefined,
      duties: createDuties({ storage, clock, owner, lostAfter: LOST_MS }),
    })
  const [one, two] = [outbox(here, 'here/1'), outbox(there, 'there/1')]
  const commits = () => [here.stats().commits, there.stats().commits]
  const idle = commits()
  one.start()
  two.start()
  await one.stop()
  await two.stop()
  expect(commits()).toEqual(idle)

  const { id } = await putEmail(here, team.id, ['a@x.test'])
  await here.dropQueue({ emailId: id }, clock.now())
  one.start()
  await one.stop()
  const { from, to } = await there.readOutbox({ limit: 10 }, clock.now())
  expect(to).toEqual(from)
  const next = await putEmail(there, team.id, ['b@x.test'])
  await there.dropQueue({ emailId: next.id }, clock.now())
  two.start()
  await two.stop()
  expect((await here.readOutbox({ limit: 10 }, clock.now())).from).toEqual(from)
  one.start()
  await one.stop()
  expect((await there.readOutbox({ limit: 10 }, clock.now())).from).not.toEqual(from)
})

test('an answer that arrives after the node was fenced gives it no duty, because others may have it', async () => {
  let fences = 0
  const late = {
    takeDuty: async () => {
      fences += 1
      return 1
    },
    releaseDuties: async () => undefined,
  }
  const node = { fenced: () => null, fences: () => fences }
  const duties = createDuties({ storage: late, clock: still, owner: 'here/1', lostAfter: LOST_MS, node })
  expect(await duties.of('outbox')()).toBe(false)
  expect(await duties.turn('outbox').take()).toBe(false)
})
