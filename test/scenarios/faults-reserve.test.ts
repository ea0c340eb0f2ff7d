import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSandboxDaemon, type SandboxDaemon } from '../world/sandbox-daemon.ts'
import { mountSmall, unmount } from '../world/small-disk.ts'

/** Another program fills the disk to the last byte and keeps it full. */

let disk: string
let mounted = false

beforeAll(async () => {
  disk = await mkdtemp(join(tmpdir(), 'posthaste-reserve-'))
  mounted = mountSmall(disk, 96) !== undefined
})
afterAll(async () => {
  if (mounted) unmount(disk)
  await rm(disk, { recursive: true, force: true })
})

const filler = (): string => join(disk, 'filler')

/** Writes until no byte is free. */
async function fillUp(): Promise<void> {
  const file = await open(filler(), 'w')
  try {
    const rest = [Buffer.alloc(1_000_000), Buffer.alloc(4096), Buffer.alloc(1)]
    for (const chunk of rest) for (;;) if (!(await fits(file.write(chunk), chunk.length))) break
  } finally {
    await file.close()
  }
}

async function fits(write: Promise<{ bytesWritten: number }>, wanted: number): Promise<boolean> {
  try {
    return (await write).bytesWritten === wanted
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}

/** Returns the log without requests, of which this test makes many. */
const withoutRequests = (output: string): string =>
  output
    .split('\n')
    .filter((line) => !line.includes('"msg":"request"'))
    .join('\n')
    .slice(-6000)

async function until(enough: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await enough())) {
    if (Date.now() > end) throw new Error(withoutRequests(what()))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Starts a sandbox with its data directory on the small disk. */
const start = async (name: string, reserve: number): Promise<[SandboxDaemon, string]> => {
  const dataDir = join(disk, name)
  await mkdir(dataDir)
  const env = { POSTHASTE_STORAGE__MIN_FREE_MB: '8', POSTHASTE_STORAGE__RESERVE_MB: `${reserve}` }
  return [await startSandboxDaemon({ dataDir, env }), dataDir]
}

/** Sends an email that the sandbox takes eight seconds to accept, so that it is in flight while the disk fills up. */
const send = (daemon: SandboxDaemon) =>
  daemon.call('POST', '/emails', {
    from: 'a@example.test',
    to: 'slow@customer.test',
    subject: 's',
    text: 't',
  })

const idOf = ({ body }: { body: unknown }): string => (body as { id: string }).id

const lastEventOf = async (daemon: SandboxDaemon, id: string): Promise<string> =>
  ((await daemon.call('GET', `/emails/${id}`)).body as { last_event: string }).last_event

const isFull = async (daemon: SandboxDaemon): Promise<boolean> => (await send(daemon)).status === 507

test('without a reserve, outcomes cannot be stored until disk space is free', async (context) => {
  if (!mounted) return context.skip('a small file system can only be mounted by root')
  const [daemon] = await start('without', 0)
  try {
    const sent = await send(daemon)
    expect(sent.status).toBe(200)
    await until(
      async () => (await lastEventOf(daemon, idOf(sent))) === 'sent',
      () => daemon.output(),
    )
    await fillUp()
    await until(
      () => daemon.output().includes('could not store the outcome of an attempt'),
      () => daemon.output(),
    )
    expect(await lastEventOf(daemon, idOf(sent))).toBe('sent')
    await rm(filler())
    // The sandbox's exchangers are on the same disk and can't store it either, so it is deferred.
    await until(
      async () => (await lastEventOf(daemon, idOf(sent))) === 'delivery_delayed',
      () => daemon.output(),
    )
  } finally {
    await rm(filler(), { force: true })
    await daemon.end('SIGTERM')
  }
})

test('with a reserve, outcomes are stored and new mail is rejected until disk space is free again', async (context) => {
  if (!mounted) return context.skip('a small file system can only be mounted by root')
  const [daemon, dataDir] = await start('with', 8)
  const reserve = join(dataDir, 'reserve')
  try {
    await until(
      () => existsSync(reserve),
      () => daemon.output(),
    )
    const { size, blocks, mode } = await stat(reserve)
    expect([size, blocks * 512 >= size, mode & 0o777]).toEqual([8_000_000, true, 0o600])
    const sent = await send(daemon)
    await until(
      async () => (await lastEventOf(daemon, idOf(sent))) === 'sent',
      () => daemon.output(),
    )

    await fillUp()
    await until(
      async () => (await lastEventOf(daemon, idOf(sent))) === 'delivered',
      () => daemon.output(),
    )
    await until(
      () => isFull(daemon),
      () => daemon.output(),
    )
    expect(existsSync(reserve)).toBe(false)
    expect(daemon.output()).toContain('the reserve (storage.reserve_mb) was released')
    expect(existsSync(filler())).toBe(true)

    await rm(filler())
    await until(
      () => existsSync(reserve),
      () => daemon.output(),
    )
    await until(
      async () => (await send(daemon)).status === 200,
      () => daemon.output(),
    )
    const again = await fetch(`${daemon.url}/readyz`)
    expect(again.status).toBe(200)
  } finally {
    await rm(filler(), { force: true })
    await daemon.end('SIGTERM')
  }
  // The reserve survives a stop, and a start on a full disk uses it.
  expect(existsSync(reserve)).toBe(true)
  await fillUp()
  const env = { POSTHASTE_STORAGE__MIN_FREE_MB: '8', POSTHASTE_STORAGE__RESERVE_MB: '8' }
  const next = await startSandboxDaemon({ dataDir, env })
  try {
    expect(existsSync(reserve)).toBe(false)
    expect(await isFull(next)).toBe(true)
  } finally {
    await rm(filler(), { force: true })
    expect(await next.end('SIGTERM')).toBe(0)
  }
}, 240_000)
