import { execFileSync } from 'node:child_process'
import { mkdtemp, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../appliance/watch/log.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startSandboxDaemon } from '../world/sandbox-daemon.ts'
import { emptyDisk, fillDisk, mountSmall, unmount } from '../world/small-disk.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests a full, broken or slow disk. */

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'faults')

/** Compiles the library that makes syncs slow or fail. Returns undefined if there is no compiler. */
function compileShim(folder: string): string | undefined {
  const library = join(folder, 'disk.so')
  try {
    const args = ['-shared', '-fPIC', '-O1', '-o', library, join(fixtures, 'disk.c'), '-ldl']
    execFileSync('cc', args, { stdio: 'ignore' })
    return library
  } catch {
    return undefined // No compiler here.
  }
}

describe('a full disk', () => {
  let folder: string
  let disk: string | undefined
  let world: World
  let appliance: TestAppliance
  let started = false
  /** Log output. */
  let said = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'posthaste-full-'))
    disk = mountSmall(folder, 48)
    if (disk === undefined) return
    world = await createWorld({
      domains: { 'away.test': { mx: [{ preference: 10, host: 'mx.away.test' }] } },
    })
    const { TMPDIR } = process.env
    process.env.TMPDIR = disk
    const log = createLogger('info', { write: (line) => void (said += line) })
    appliance = await startAppliance({
      world,
      log,
      config: {
        storage: { engine: 'sqlite', bodies: 'engine', min_free_mb: 16, reserve_mb: 0 },
        smtp: { starttls: ['127.0.0.1:0'] } as never,
      },
    })
    started = true
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  afterAll(async () => {
    if (started) await Promise.all([appliance.close(), world.close()])
    if (disk !== undefined) unmount(disk)
    await rm(folder, { recursive: true, force: true })
  })

  const fill = (left: number) => fillDisk(disk!, left)
  const empty = () => emptyDisk(disk!)

  async function bySmtp(): Promise<unknown> {
    const [host, port] = appliance.appliance.smtp.starttls[0]!.split(':')
    const transport = createTransport({
      host: host!,
      port: Number(port),
      tls: { rejectUnauthorized: false },
      auth: { user: 'posthaste', pass: appliance.apiKey },
    })
    try {
      return await transport.sendMail({ from: 'a@sender.test', to: 'b@away.test', text: 'x' })
    } catch (error) {
      return (error as { response?: string }).response
    } finally {
      transport.close()
    }
  }

  const post = (to: string) =>
    appliance.call<{ name?: string; message?: string }>('POST', '/emails', {
      from: 'a@sender.test',
      to,
      subject: 's',
      text: 't',
    })
  /** The first request after the change makes the daemon check the disk. Later responses reflect the result. */
  const looked = (status: number) =>
    expect.poll(async () => (await post('kick@away.test')).status, { interval: 100 }).toBe(status)
  /** Waits until the exchanger has received RCPT for it. */
  const taken = (to: string) =>
    expect.poll(() => world.exchanger('mx.away.test').steps.map(({ address }) => address)).toContain(to)

  test('a full disk rejects new mail over HTTP and SMTP, delivers accepted mail, and recovers by itself', async (context) => {
    if (disk === undefined) return context.skip('a small file system can only be mounted by root')
    // In flight while the disk fills up: the reply to the final dot is delayed.
    let answer = Promise.withResolvers<undefined>()
    world
      .exchanger('mx.away.test')
      .behave(({ command }) => (command === 'message' ? { until: answer.promise } : undefined))
    const id = await appliance.send({ to: 'first@away.test' })
    await taken('first@away.test')
    await fill(4_000_000)
    await looked(507)

    const refused = await post('refused@away.test')
    expect(refused).toMatchObject({ status: 507, body: { name: 'application_error' } })
    expect(refused.body.message).toMatch(/too little free disk space.*Nothing was accepted/)
    expect(await bySmtp()).toMatch(/^452 4\.3\.1 /)
    const ready = await fetch(`${appliance.url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('storage.min_free_mb')])
    answer.resolve(undefined)
    const { deliveries } = await appliance.until(
      id,
      (timeline) => timeline.deliveries[0]!.state !== 'waiting',
    )
    expect(deliveries[0]!.state).toBe('delivered')

    // Not a single byte is free while another email is in flight.
    await empty()
    await looked(200)
    answer = Promise.withResolvers()
    const last = await appliance.send({ to: 'last@away.test' })
    await taken('last@away.test')
    await fill(0)
    answer.resolve(undefined)
    await expect.poll(() => said).toContain('could not store the outcome of an attempt')
    await empty()
    await appliance.until(last, (timeline) => timeline.deliveries[0]!.state === 'delivered')
    await looked(200)
    const after = await appliance.send({ to: 'after@away.test' })
    await appliance.until(after, (timeline) => timeline.deliveries[0]!.state === 'delivered')

    const copies = [...world.mailboxOf('mx.away.test')]
      .flatMap(({ envelope }) => envelope.to)
      .filter((to) => !to.startsWith('kick'))
    expect(copies.toSorted()).toEqual(['after@away.test', 'first@away.test', 'last@away.test'])
  })
})

describe('a disk with slow, then failing syncs', () => {
  let folder: string
  let library: string | undefined

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'posthaste-slow-'))
    library = compileShim(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('slow or failing disk syncs do not block the event loop, and mail that cannot be stored is rejected', async (context) => {
    if (library === undefined) return context.skip('the shim needs a C compiler')
    const fault = join(folder, 'fault')
    const dataDir = join(folder, 'data')
    await mkdir(dataDir)
    const daemon = await startSandboxDaemon({
      dataDir,
      env: {
        LD_PRELOAD: library,
        FAULT_FILE: fault,
        POSTHASTE_LOG__LEVEL: 'info',
      },
    })
    const email = { from: 'a@example.test', to: 'defer@customer.test', subject: 's', text: 't' }
    const send = () => daemon.call('POST', '/emails', email)
    try {
      await writeFile(fault, 'slow 40')
      const took: number[] = []
      const client = async (): Promise<void> => {
        for (let count = 0; count < 30; count++) {
          const begun = performance.now()
          expect((await send()).status).toBe(200)
          took.push(performance.now() - begun)
        }
      }
      await Promise.all(Array.from({ length: 8 }, client))
      expect(Math.min(...took), 'every answer waits for the disk').toBeGreaterThanOrEqual(40)
      expect(existsSync(`${fault}.main`), 'the main thread waits for no sync').toBe(false)

      await writeFile(fault, 'broken')
      expect(await send()).toMatchObject({ status: 503, body: { name: 'application_error' } })
      await rm(fault)
      expect((await send()).status).toBe(200)
      expect(daemon.output()).toContain('an email was refused: it could not be stored')
    } finally {
      await daemon.end('SIGTERM')
    }
    expect((await stat(join(dataDir, 'posthaste.db'))).size).toBeGreaterThan(0)
  })
})
