import { execFileSync } from 'node:child_process'
import { mkdtemp, mkdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startSandboxDaemon } from '../world/sandbox-daemon.ts'
import { createWorld, type World } from '../world/world.ts'

/** The disk is full, broken or slow. */

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'faults')

/** A file system of 48 MB; undefined where this user may not mount one. */
function mountSmall(folder: string): string | undefined {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', folder], { stdio: 'ignore' })
    return folder
  } catch {
    return undefined // Not root, or a container without the right.
  }
}

/** The library that lets syncs be slow or fail; undefined where there is no compiler. */
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
  const filler = () => join(disk!, 'filler')

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'posthaste-full-'))
    disk = mountSmall(folder)
    if (disk === undefined) return
    world = await createWorld({
      domains: { 'away.test': { mx: [{ preference: 10, host: 'mx.away.test' }] } },
    })
    const { TMPDIR } = process.env
    process.env.TMPDIR = disk
    appliance = await startAppliance({
      world,
      config: {
        storage: { engine: 'sqlite', min_free_mb: 16, reserve_mb: 0 },
        smtp: { starttls: ['127.0.0.1:0'] } as never,
      },
    })
    started = true
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  afterAll(async () => {
    if (started) await Promise.all([appliance.close(), world.close()])
    if (disk !== undefined) execFileSync('umount', ['-l', disk])
    await rm(folder, { recursive: true, force: true })
  })

  /** Takes everything but so many bytes. */
  async function fill(left: number): Promise<void> {
    await rm(filler(), { force: true })
    const { bavail, bsize } = await statfs(disk!)
    const bytes = Math.max(0, bavail * bsize - left)
    // The file grows until the disk is full where nothing is to be left.
    await writeFile(filler(), Buffer.alloc(left === 0 ? bytes + 4096 : bytes)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    })
  }

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
  const settleLook = () => new Promise((resolve) => setTimeout(resolve, 700))

  test('refuses new mail at both doors, delivers what it has, and recovers by itself', async (context) => {
    if (disk === undefined) return context.skip('a small file system can only be mounted by root')
    // On its way while the disk fills: the answer to the final dot comes late.
    world
      .exchanger('mx.away.test')
      .behave(({ command }) => (command === 'message' ? { pauseMs: 2500 } : undefined))
    const id = await appliance.send({ to: 'first@away.test' })
    await fill(4_000_000)
    await settleLook()
    await post('kick@away.test') // Whoever asks first after the change lets the disk be looked at.
    await settleLook()

    const refused = await post('refused@away.test')
    expect(refused).toMatchObject({ status: 507, body: { name: 'application_error' } })
    expect(refused.body.message).toMatch(/too little free disk space.*nothing was accepted/)
    expect(await bySmtp()).toMatch(/^452 4\.3\.1 /)
    const ready = await fetch(`${appliance.url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('storage.min_free_mb')])
    const { deliveries } = await appliance.until(
      id,
      (timeline) => timeline.deliveries[0]!.state !== 'waiting',
    )
    expect(deliveries[0]!.state).toBe('delivered')

    // Not a byte is left, while another one is on its way.
    await rm(filler())
    await settleLook()
    await post('kick@away.test')
    await settleLook()
    const last = await appliance.send({ to: 'last@away.test' })
    await fill(0)
    await new Promise((resolve) => setTimeout(resolve, 4000))
    await rm(filler())
    await appliance.until(last, (timeline) => timeline.deliveries[0]!.state === 'delivered')
    world.exchanger('mx.away.test').behave(undefined)
    await post('kick@away.test')
    await settleLook()
    const after = await appliance.send({ to: 'after@away.test' })
    await appliance.until(after, (timeline) => timeline.deliveries[0]!.state === 'delivered')

    const copies = [...world.mailboxOf('mx.away.test')]
      .flatMap(({ envelope }) => envelope.to)
      .filter((to) => !to.startsWith('kick'))
    expect(copies.toSorted()).toEqual(['after@away.test', 'first@away.test', 'last@away.test'])
  })
})

describe('a disk whose syncs are slow, then fail', () => {
  let folder: string
  let library: string | undefined

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'posthaste-slow-'))
    library = compileShim(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('the event loop never waits for it; what cannot be stored is refused, and taken again later', async (context) => {
    if (library === undefined) return context.skip('the shim needs a C compiler')
    const [fault, loop] = [join(folder, 'fault'), join(folder, 'loop')]
    const probe = join(fixtures, 'loop-probe.ts')
    const dataDir = join(folder, 'data')
    await mkdir(dataDir)
    const daemon = await startSandboxDaemon({
      dataDir,
      env: {
        LD_PRELOAD: library,
        FAULT_FILE: fault,
        LOOP_FILE: loop,
        NODE_OPTIONS: `--import=${probe}`,
        POSTHASTE_LOG__LEVEL: 'info',
      },
    })
    const email = { from: 'a@example.test', to: 'defer@customer.test', subject: 's', text: 't' }
    const send = () => daemon.call('POST', '/emails', email)
    try {
      await writeFile(fault, 'slow 40')
      await rm(loop, { force: true })
      const end = Date.now() + 5000
      const took: number[] = []
      const client = async (): Promise<void> => {
        while (Date.now() < end) {
          const begun = Date.now()
          expect((await send()).status).toBe(200)
          took.push(Date.now() - begun)
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
      await Promise.all(Array.from({ length: 8 }, client))
      expect(Math.min(...took), 'every answer waits for the disk').toBeGreaterThanOrEqual(40)
      expect(existsSync(`${fault}.main`), 'the main thread waits for no sync').toBe(false)
      const late = (await readFile(loop, 'utf8')).trim().split('\n').map(Number)
      // A loop that waits for the disk is 40 ms late in every second; one on a busy machine is so in some.
      expect(Math.min(...late), `p99 in each second: ${late.join(', ')} ms`).toBeLessThan(20)

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
