import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPair, type PostgresPair } from '../../../../appliance/crashtest/postgres-pair.ts'
import { serverIn, type PostgresServer } from '../../../../appliance/crashtest/postgres-server.ts'
import type { EngineStorage } from '../../../../appliance/storage/assembly.ts'
import { openPostgres } from '../../../../appliance/storage/postgres/postgres.ts'
import { splitPostgresUrl } from '../../../../appliance/config/postgres-url.ts'
import { T0 } from '../../../contract/fixtures.ts'
import { PATIENCE } from '../../../world/patience.ts'
import { findPostgresPrograms } from './cluster.ts'

/** A storage whose URL names a primary and its synchronous standby. */

const programs = findPostgresPrograms()
let pair: PostgresPair
let storage: EngineStorage
let former: PostgresServer | undefined

beforeAll(async () => {
  pair = await startPair(programs)
  storage = await openPostgres(targetOf(pair))
}, PATIENCE)

afterAll(async () => {
  await storage?.close()
  await former?.stop()
  await pair?.close()
})

function targetOf(servers: PostgresPair): { url: string; others: string[] } {
  const [url, ...others] = splitPostgresUrl(servers.urlOf('postgres'))!.map(({ href }) => href)
  return { url: url!, others }
}

/** Takes a duty. Returns the term, or the reason why the storage can't write. */
const take = (owner: string): Promise<number | null | string> =>
  storage
    .takeDuty({ name: 'test', owner, forMs: 1, lostAfter: PATIENCE }, T0)
    .catch((error: Error) => error.message)

const eventually = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 50 })

test(
  'writes, reads and heartbeats go to the standby as soon as it is promoted',
  { timeout: PATIENCE },
  async () => {
    await storage.joinNode({ id: 'a1', run: 'r1', name: 'one', facts: '{}' }, T0)
    expect(await take('a1/1')).toBe(1)
    await pair.kill()
    await eventually(() => take('a1/1')).toMatch(
      /^No server of storage\.url takes writes \(.*\/a: connect ECONNREFUSED.*; .*\/b: a standby\)\.$/,
    )
    await pair.promote()
    await eventually(() => take('a1/1')).toBe(1)
    const renewal = { id: 'a1', run: 'r1', state: 'active', facts: '{}', lostAfter: 1000 } as const
    await eventually(() => storage.renewNode(renewal, T0).then((one) => one?.alive)).toBe(1)
    await eventually(() => storage.listNodes({}, T0).then((nodes) => nodes.map(({ name }) => name))).toEqual([
      'one',
    ])
  },
)

test('a former primary that takes writes again is not used', { timeout: PATIENCE }, async () => {
  const [first] = splitPostgresUrl(pair.urlOf('postgres'))!
  former = await serverIn({ programs, folder: first!.searchParams.get('host')!, safe: true })
  await former.start()
  await pair.kill()
  await eventually(() => take('a1/1')).toMatch(/\/a: a former primary, on timeline 1 instead of 2; /)
  await pair.start()
  await eventually(() => take('a1/2')).toBe(2)
})
