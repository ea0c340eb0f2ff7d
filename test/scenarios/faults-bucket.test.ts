import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { loadConfig, type Config } from '../../appliance/config/config.ts'
import { createLogger } from '../../appliance/watch/log.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startSwift, type SwiftServer } from '../world/swift.ts'
import { createWorld, type World } from '../world/world.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/** The whole appliance with large messages in a bucket of a real S3 server, on both engines. */

let swift: SwiftServer
let cluster: Cluster
let world: World
let appliance: TestAppliance | undefined
/** What the current appliance has logged. */
let said = ''

beforeAll(async () => {
  ;[swift, cluster, world] = await Promise.all([
    startSwift(),
    startCluster(findPostgresPrograms(), { safe: true }),
    createWorld({ domains: { 'good.test': { mx: [{ preference: 10, host: 'mx.good.test' }] } } }),
  ])
}, 240_000)
afterEach(async () => {
  await appliance?.close()
  appliance = undefined
  said = ''
})
afterAll(async () => {
  await world?.close()
  await cluster?.close()
  await swift?.close()
})

const MINUTES = { timeout: 300_000 }

function defaults(): Config {
  const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.sender.test' }, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  return loaded.config
}

/** Opens an appliance that stores large messages in a bucket. */
async function open(
  engine: 'postgres' | 'sqlite',
  change: Partial<Config['s3']> = {},
): Promise<TestAppliance> {
  const { s3, storage } = defaults()
  const url = engine === 'postgres' ? { url: await cluster.createDatabase() } : {}
  const log = createLogger('info', { write: (line) => void (said += line) })
  return (appliance = await startAppliance({
    world,
    log,
    config: {
      storage: { ...storage, engine, ...url, bodies: 's3' },
      s3: {
        ...s3,
        endpoint: swift.endpoint,
        bucket: change.bucket ?? (await swift.createBucket()),
        access_key_id: swift.accessKeyId,
        secret_access_key: swift.secretAccessKey,
        ...change,
      },
    },
  }))
}

const LARGE = 'a line of a large message\n'.repeat(10_000)
const large = { from: 'App <hello@sender.test>', to: 'ada@good.test', subject: 'Large', text: LARGE }
/** Returns the stored message of an email, from wherever it is. */
async function sourceOf(id: string): Promise<string> {
  const { url, apiKey } = appliance!
  const response = await fetch(`${url}/emails/${id}/source`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })
  expect(response.status).toBe(200)
  return response.text()
}

const objectOf = (id: string): string => `posthaste/${id.slice(-2)}/${id}`

test.each(['postgres', 'sqlite'] as const)(
  'delivers a large message from the bucket unchanged (%s)',
  MINUTES,
  async (engine) => {
    const posthaste = await open(engine)
    const before = world.mailboxOf('mx.good.test').length
    const small = await posthaste.send({ to: 'ada@good.test', subject: 'Small' })
    const id = await posthaste.send(large)
    for (const one of [small, id])
      expect((await posthaste.until(one, isFinal)).deliveries.map(({ state }) => state)).toEqual([
        'delivered',
      ])
    const bucket = posthaste.config.s3.bucket!
    expect(await swift.keys(bucket)).toEqual([objectOf(id)])
    const stored = Buffer.from(await (await swift.request(`${bucket}/${objectOf(id)}`)).arrayBuffer())
    expect(await sourceOf(id)).toBe(stored.toString())
    const received = world.mailboxOf('mx.good.test').slice(before)
    const arrived = received.map(({ raw }) => raw).find((bytes) => bytes.length > LARGE.length)!
    // The message on the wire begins with what is added in transit, and ends with exactly what was stored.
    const body = (bytes: Buffer) => bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)
    const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    expect(hash(body(arrived))).toBe(hash(body(stored)))
  },
)

test(
  'while the bucket is down, large messages are refused and accepted ones wait until it responds again',
  MINUTES,
  async () => {
    const posthaste = await open('postgres')
    const bucket = posthaste.config.s3.bucket!
    const later = await posthaste.send({
      ...large,
      scheduled_at: new Date(world.clock.now() + 3_600_000).toISOString(),
    })
    await swift.stop()
    const refused = await posthaste.call('POST', '/emails', large)
    expect(refused.status).toBe(503)
    expect(said).toContain("can't be reached (ECONNREFUSED)")
    // Messages in the database aren't affected.
    const small = await posthaste.send({ to: 'ada@good.test', subject: 'Small' })
    expect((await posthaste.until(small, isFinal)).deliveries[0]!.state).toBe('delivered')
    // The message is due, but can't be read.
    await world.clock.advance(3_700_000)
    await expect.poll(() => said, MINUTES).toContain(later)
    await swift.start()
    const accepted = await posthaste.send(large)
    await expect
      .poll(async () => {
        await world.clock.advance(10_000)
        const found = await Promise.all([later, accepted].map((id) => appliance!.timeline(id)))
        return found.map(({ deliveries }) => deliveries[0]!.state)
      }, MINUTES)
      .toEqual(['delivered', 'delivered'])
    expect(await swift.keys(bucket)).toEqual([objectOf(later), objectOf(accepted)].sort())
  },
)

test('starts only with a bucket that it can use, and names the setting that is wrong', MINUTES, async () => {
  await expect(open('postgres', { secret_access_key: 'wrong' })).rejects.toThrow(
    /^s3\.secret_access_key: The bucket mail-\d+ at http.* refused the signature/,
  )
  await expect(open('sqlite', { bucket: 'not-there' })).rejects.toThrow(
    /^s3\.bucket: The bucket not-there at http.* doesn't exist/,
  )
})

test('starts while the bucket is down, and stores large messages once it responds', MINUTES, async () => {
  const bucket = await swift.createBucket()
  await swift.stop()
  const posthaste = await open('postgres', { bucket })
  expect(said).toContain('the bucket for large messages does not respond')
  expect((await posthaste.call('POST', '/emails', large)).status).toBe(503)
  await swift.start()
  const id = await posthaste.send(large)
  expect(await swift.keys(bucket)).toEqual([objectOf(id)])
})

test('after a switch, earlier messages stay readable where they are', MINUTES, async () => {
  const posthaste = await open('sqlite')
  const inBucket = await posthaste.send(large)
  const use = (bodies: 'engine' | 's3') =>
    posthaste.restart(async () => void (posthaste.config.storage.bodies = bodies))
  await use('engine')
  const inFile = await posthaste.send(large)
  expect(await swift.keys(posthaste.config.s3.bucket!)).toEqual([objectOf(inBucket)])
  for (const bodies of ['engine', 's3'] as const) {
    if (posthaste.config.storage.bodies !== bodies) await use(bodies)
    for (const id of [inBucket, inFile]) expect(await sourceOf(id)).toContain('a line of a large message')
  }
})
