import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lockDataDir, openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { run, writeConfig } from '../world/daemon.ts'
import { startSandboxDaemon } from '../world/sandbox-daemon.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests a stop during work, a start that must fail, and missing DNS. */

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-stop-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const from = 'a@example.test'

test('SIGTERM under load finishes deliveries in flight and keeps all accepted mail', async () => {
  const dataDir = join(folder, 'stop')
  let daemon = await startSandboxDaemon({ dataDir })
  const accepted: string[] = []
  let stopping = false
  const client = async (name: number): Promise<void> => {
    for (let count = 0; !stopping; count++) {
      const to = count % 10 === 0 ? `slow+${name}-${count}@customer.test` : `u${name}-${count}@nobody.test`
      const answer = await daemon
        .call('POST', '/emails', { from, to, subject: 's', text: 't' })
        .catch(() => undefined) // The listener is closed.
      if (answer?.status === 200) accepted.push((answer.body as { id: string }).id)
      else if (answer === undefined) return
      else expect(answer.status).toBe(503)
    }
  }
  const clients = Promise.all([1, 2, 3, 4].map(client))
  await expect.poll(() => accepted.length).toBeGreaterThan(40)
  const code = await daemon.end('SIGTERM')
  stopping = true
  await clients
  expect(code).toBe(0)
  expect(daemon.output()).toContain('"stopped"')
  expect(daemon.output()).not.toContain('attempts in flight')

  daemon = await startSandboxDaemon({ dataDir })
  try {
    const known = await Promise.all(accepted.map((id) => daemon.call('GET', `/emails/${id}`)))
    expect(known.filter(({ status }) => status !== 200)).toEqual([])
  } finally {
    await daemon.end('SIGKILL')
  }
})

/** Returns the output of `serve` on a data directory that it can't use. */
async function serve(
  dataDir: string,
  more: object = {},
  file = dataDir,
): Promise<{ code: number | null; stderr: string }> {
  const config = `${file}.toml`
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: dataDir,
    http: { listen: ['127.0.0.1:0'] },
    smtp: { starttls: [], implicit_tls: [] },
    ...more,
  })
  return run(['serve', '--config', config])
}

test('rejects a second daemon on the same data directory, and names the first one’s process', async () => {
  const dataDir = join(folder, 'twice')
  const lock = await lockDataDir(dataDir)
  try {
    expect(await serve(dataDir)).toMatchObject({
      code: 1,
      stderr: `Another daemon is running on ${dataDir} (process ${process.pid}). Stop it first, or give this one its own data_dir.\n`,
    })
  } finally {
    lock.release()
  }
})

test('reports in one line that a data directory cannot be created', async () => {
  const dataDir = join(folder, 'a-file')
  await writeFile(dataDir, '')
  expect(await serve(dataDir)).toMatchObject({
    code: 1,
    stderr: `Cannot create the data directory ${dataDir}: EEXIST: file already exists, mkdir '${dataDir}'. Create it, owned by the service user.\n`,
  })
})

test('reports in one line that the data directory is below an unwritable path, without hanging', async () => {
  expect(await serve('/proc/posthaste/data', {}, join(folder, 'proc'))).toMatchObject({
    code: 1,
    stderr:
      "Cannot create the data directory /proc/posthaste/data: ENOENT: no such file or directory, mkdir '/proc/posthaste'. Create it, owned by the service user.\n",
  })
})

test('reports in one line that a certificate cannot be read', async () => {
  const missing = join(folder, 'nothing.pem')
  expect(await serve(join(folder, 'tls'), { tls: { cert: missing, key: missing } })).toMatchObject({
    code: 1,
    stderr: `tls.cert: ${missing} cannot be read (ENOENT). Correct the path or the file's permissions.\n`,
  })
})

test('reports a damaged database at the start, with advice, and does not change it', async () => {
  const dataDir = join(folder, 'damaged')
  await (await openSqlite({ dataDir })).close()
  const path = join(dataDir, 'posthaste.db')
  const file = await open(path, 'r+')
  const { size } = await stat(path)
  // Damages the middle of the file, which no start reads.
  await file.write(Buffer.alloc(4096, 0xa5), 0, 4096, Math.floor(size / 8192) * 4096)
  await file.close()
  const before = await readFile(path)
  const { code, stderr } = await serve(dataDir)
  expect(code).toBe(1)
  expect(stderr).toMatch(/^.*is damaged.*Keep the files as they are.*posthaste restore.*\n$/)
  expect((await readFile(path)).equals(before)).toBe(true)
})

describe('without DNS', () => {
  let world: World
  let appliance: TestAppliance

  beforeAll(async () => {
    const mx = (host: string) => ({ mx: [{ preference: 10, host }] })
    world = await createWorld({ domains: { 'a.test': mx('mx.a.test'), 'b.test': mx('mx.b.test') } })
    appliance = await startAppliance({ world })
  })
  afterAll(async () => {
    await appliance.close()
    await world.close()
  })

  test('without DNS, all mail is deferred, nothing bounces, and delivery resumes when DNS recovers', async () => {
    for (const name of ['a.test', 'b.test']) world.dns.set(name, 'SERVFAIL')
    const ids = await Promise.all(['x@a.test', 'y@b.test', 'z@b.test'].map((to) => appliance.send({ to })))
    for (const id of ids) {
      const { deliveries } = await appliance.until(id, ({ attempts }) => attempts.length > 0)
      expect(deliveries[0]!.state).toBe('waiting')
    }
    await world.clock.advance(3 * 3_600_000)
    for (const id of ids) expect((await appliance.timeline(id)).deliveries[0]!.state).toBe('waiting')

    for (const name of ['a.test', 'b.test'])
      world.dns.set(name, { MX: [{ preference: 10, exchange: `mx.${name}` }] })
    await world.clock.advance(12 * 3_600_000)
    for (const id of ids) await appliance.until(id, ({ deliveries }) => deliveries[0]!.state === 'delivered')
    expect(world.mailboxOf('mx.a.test')).toHaveLength(1)
    expect(world.mailboxOf('mx.b.test')).toHaveLength(2)
  })
})
