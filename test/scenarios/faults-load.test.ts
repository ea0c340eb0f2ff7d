import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSandboxDaemon, type SandboxDaemon } from '../world/sandbox-daemon.ts'
import { PATIENCE } from '../world/patience.ts'

/** Tests too many connections and too much memory. */

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-load-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const from = 'a@example.test'
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Returns the recipients whose mail the sandbox's exchangers accepted. */
async function arrived(daemon: SandboxDaemon): Promise<string[]> {
  const { body } = await daemon.call('GET', '/sandbox/messages?limit=100')
  return (body as { data: { to: string[] }[] }).data.flatMap(({ to }) => to)
}

/** Polls for at most `ms` milliseconds. Returns the last result. */
async function eventually<T>(
  ask: () => Promise<T>,
  enough: (value: T) => boolean,
  ms = PATIENCE,
): Promise<T> {
  const end = Date.now() + ms
  for (;;) {
    const value = await ask()
    if (enough(value) || Date.now() > end) return value
    await pause(100)
  }
}

test('running out of file descriptors loses nothing, is logged, and ends when connections close', async () => {
  // The daemon starts with about 50 open descriptors, and HTTP clients may use 30% of all.
  const daemon = await startSandboxDaemon({
    dataDir: join(folder, 'descriptors'),
    before: 'ulimit -n 75;',
  })
  const sockets: Socket[] = []
  try {
    const send = (to: string) => daemon.call('POST', '/emails', { from, to, subject: 's', text: 't' })
    expect((await send('one@customer.test')).status).toBe(200)
    await eventually(
      () => arrived(daemon),
      (all) => all.length === 1,
    )
    const { port } = new URL(daemon.url)
    for (let count = 0; count < 150; count++) {
      const socket = connect({ port: Number(port), host: '127.0.0.1' })
      socket.on('error', () => undefined) // Being thrown out is what is asked for.
      sockets.push(socket)
    }
    const told = await eventually(
      () => Promise.resolve(daemon.output()),
      (output) => output.includes('file descriptors'),
    )
    expect(told).toMatch(/almost out of file descriptors.*LimitNOFILE/)
    for (const socket of sockets) socket.destroy()
    const again = await eventually(
      () => send('two@customer.test').catch(() => ({ status: 0 })),
      ({ status }) => status === 200,
    )
    expect(again.status).toBe(200)
    const there = await eventually(
      () => arrived(daemon),
      (all) => all.length >= 2,
    )
    expect(there.toSorted()).toEqual(['one@customer.test', 'two@customer.test'])
  } finally {
    for (const socket of sockets) socket.destroy()
    await daemon.end('SIGTERM')
  }
})

/** Returns a process's current (VmRSS) or peak (VmHWM) resident memory; see proc(5). */
async function megabytes(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)![1]) / 1024
}

test('accepts large concurrent messages within the memory limit, and rejects the others with 503', async () => {
  const daemon = await startSandboxDaemon({
    dataDir: join(folder, 'memory'),
    env: { NODE_OPTIONS: '--max-old-space-size=192' },
  })
  const idle = await megabytes(daemon.pid, 'VmRSS')
  try {
    const content = Buffer.alloc(9_000_000, 'x').toString('base64')
    const attachments = [{ filename: 'big.bin', content }]
    const body = { from, to: 'defer@customer.test', subject: 's', text: 't', attachments }
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => daemon.call('POST', '/emails', body).then(({ status }) => status)),
    )
    expect(answers.filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(answers).toContain(200)
    // 12 requests of 12 MB would use 72 MB each, as parsed text, attachment and MIME message: 864 MB in total.
    expect((await megabytes(daemon.pid, 'VmHWM')) - idle).toBeLessThan(740)
    expect((await daemon.call('GET', '/emails')).status).toBe(200)
  } finally {
    await daemon.end('SIGKILL')
  }
})
