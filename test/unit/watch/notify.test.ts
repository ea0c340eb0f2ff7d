import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import type { Health } from '../../../appliance/watch/health.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createNotifier, getWatchdogInterval } from '../../../appliance/watch/notify.ts'
import { createTestClock } from '../../world/clock.ts'

const well: Health = { ok: true, reasons: [] }
const ill: Health = { ok: false, reasons: ['The database does not answer.'] }
const log = createSilentLogger()

/** Waits until work started by a clock tick has finished. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the watchdog interval', () => {
  test('the watchdog interval is a third of the period', () => {
    expect(getWatchdogInterval({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '7' }, 7)).toBe(20_000)
  })
  test('the watchdog interval is null if the period is invalid or for another process', () => {
    expect(getWatchdogInterval({}, 7)).toBeNull()
    expect(getWatchdogInterval({ WATCHDOG_USEC: 'soon' }, 7)).toBeNull()
    expect(getWatchdogInterval({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '8' }, 7)).toBeNull()
  })
})

describe('notifying the service manager', () => {
  test('sends nothing without a notify socket', async () => {
    const sent: string[] = []
    const send = async (notice: readonly string[]) => void sent.push(...notice)
    const notifier = createNotifier({ clock: systemClock, log, env: {}, pid: 7, send })
    await notifier.ready('up', async () => well)
    await notifier.stopping()
    notifier.close()
    expect(sent).toEqual([])
  })

  test('notifies the watchdog while the daemon is healthy or stopping, but not while it is unhealthy', async () => {
    const clock = createTestClock()
    const sent: string[] = []
    let health = well
    const env = { NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '3000000', WATCHDOG_PID: '7' }
    const send = async (notice: readonly string[]) => void sent.push(notice[0]!)
    const notifier = createNotifier({ clock, log, env, pid: 7, send })
    const turn = async () => {
      await clock.advance(1000)
      await settled()
    }
    await notifier.ready('up\nand well', async () => health)
    await turn()
    expect(sent).toEqual(['READY=1', 'WATCHDOG=1'])
    health = ill
    await turn()
    expect(sent).toHaveLength(2)
    await notifier.stopping()
    await turn()
    expect(sent.slice(2)).toEqual(['STOPPING=1', 'WATCHDOG=1'])
    notifier.close()
    await turn()
    expect(sent).toHaveLength(4)
  })

  test('a notice that cannot be sent does not stop the daemon', async () => {
    const send = () => Promise.reject(new Error('no such program'))
    const notifier = createNotifier({
      clock: systemClock,
      log,
      env: { NOTIFY_SOCKET: '/run/x' },
      pid: 7,
      send,
    })
    await expect(notifier.ready('up', async () => well)).resolves.toBeUndefined()
    notifier.close()
  })
})

const missing =
  spawnSync('systemd-notify', ['--version']).status !== 0 || spawnSync('python3', ['--version']).status !== 0

describe.skipIf(missing)('over a real notify socket (skipped without systemd-notify and python3)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-notify-'))
  let listener: ChildProcess | undefined
  afterEach(() => {
    listener?.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  test('systemd-notify delivers the notices in order', async () => {
    const socket = join(folder, 'notify')
    const script = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True:
    # Descriptors that come along are closed unread: that is what the sender waits for.
    print(repr(s.recv(4096)), flush=True)
`
    listener = spawn('python3', ['-c', script, socket])
    let heard = ''
    const bound = Promise.withResolvers<undefined>()
    listener.stdout!.on('data', (chunk: Buffer) => {
      heard += chunk.toString()
      if (heard.includes('bound')) bound.resolve(undefined)
    })
    await bound.promise
    // The sender program is found by PATH, and reads the socket's name from the environment.
    const before = process.env.NOTIFY_SOCKET
    process.env.NOTIFY_SOCKET = socket
    try {
      const notifier = createNotifier({ clock: systemClock, log, env: process.env, pid: process.pid })
      await Promise.all([notifier.ready('Mail is taken.', async () => well), notifier.stopping()])
      notifier.close()
    } finally {
      if (before === undefined) delete process.env.NOTIFY_SOCKET
      else process.env.NOTIFY_SOCKET = before
    }
    const notices = heard.split('\n').filter((line) => /READY|STOPPING/.test(line))
    expect(notices[0]).toContain('READY=1\\nSTATUS=Mail is taken.')
    expect(notices[1]).toContain('STOPPING=1')
  })
})
