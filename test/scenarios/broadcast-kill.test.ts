import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { CRASH_POINT_VARIABLE, type CrashPoint, SCRATCH_MARKER } from '../../appliance/watch/crash-points.ts'
import { run } from '../world/daemon.ts'
import { createKillable, type Killable } from '../world/killable.ts'

/**
 * A broadcast reaches everyone even if the daemon is killed. Only recipients whose email was in flight may get it
 * twice.
 */

const READERS = 300
/** Number of emails that have arrived when the daemon is killed. 0: at once, during the expansion to recipients. */
const KILLS = [0, 40, 150]
/** Maximum messages in flight at once: the connections to one provider. */
const ON_THE_WIRE = 10

let daemon: Killable
beforeAll(async () => {
  daemon = await createKillable()
  await writeFile(join(daemon.dataDir, SCRATCH_MARKER), '')
  await daemon.start()
}, 400_000)
afterAll(() => daemon.close())

/** Creates a segment of contacts at busy.test, by local part. */
async function segmentOf(names: string[]): Promise<string> {
  const { id } = await daemon.call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  for (let at = 0; at < names.length; at += 500) {
    const emails = names.slice(at, at + 500).map((name) => `${name}@busy.test`)
    await daemon.call('POST', '/contacts/batch/add', { emails, segment_ids: [id] })
  }
  return id
}

/** Creates a broadcast and sends it. Returns its ID. */
async function send(draft: object): Promise<string> {
  const { id } = await daemon.call<{ id: string }>('POST', '/broadcasts', {
    from: 'news@sender.test',
    html: '<p>Hello</p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    ...draft,
  })
  try {
    await daemon.call('POST', `/broadcasts/${id}/send`, {})
  } catch (error) {
    // At a crash point, the daemon may die before it answers.
    if (!(error instanceof TypeError)) throw error
  }
  return id
}

/** Returns the recipients of emails with this subject, once per copy. */
const readers = (subject: string): string[] =>
  daemon.mailbox
    .filter(({ raw }) => raw.toString().includes(`\r\nSubject: ${subject}\r\n`))
    .map(({ envelope }) => envelope.to[0]!)

/** Emails in flight at a kill are retried after ten seconds. */
const untilAllGot = (subject: string, recipients: number) =>
  vi.waitFor(() => expect([subject, new Set(readers(subject)).size]).toEqual([subject, recipients]), {
    timeout: 150_000,
    interval: 100,
  })

const untilEnqueued = (id: string, emails: number) =>
  vi.waitFor(
    async () =>
      expect(await daemon.call('GET', `/emails?broadcast_id=${id}&limit=100`)).toMatchObject({
        data: { length: emails },
      }),
    { timeout: 60_000, interval: 50 },
  )

const untilSent = (id: string, recipients: number) =>
  vi.waitFor(
    async () =>
      expect(await daemon.call('GET', `/broadcasts/${id}`)).toMatchObject({ status: 'sent', recipients }),
    { timeout: 150_000, interval: 100 },
  )

test(`${READERS} contacts get a broadcast although the daemon is killed ${KILLS.length} times`, async () => {
  const exchanger = daemon.world.exchanger('mx.busy.test')
  // Slow enough to kill the daemon in between.
  exchanger.behave(({ command }) => (command === 'rcpt' ? { until: sleep(100) } : undefined))
  const segment = await segmentOf(Array.from({ length: READERS }, (_, n) => `reader${n}`))
  const id = await send({ segment_id: segment, subject: 'News' })
  for (const arrived of KILLS) {
    await vi.waitFor(() => expect(readers('News').length).toBeGreaterThanOrEqual(arrived), {
      timeout: 150_000,
    })
    await daemon.kill()
    await daemon.start()
  }
  await untilAllGot('News', READERS)
  await untilSent(id, READERS)
  expect(readers('News').length).toBeLessThanOrEqual(READERS + KILLS.length * ON_THE_WIRE)
  exchanger.behave(undefined)
}, 400_000)

/**
 * Creates a segment that sending processes in two parts, although all contacts but the first and the last are excluded.
 */
async function segmentInTwoParts(): Promise<object> {
  const names = Array.from({ length: 1100 }, (_, n) => `part${n}`)
  const exclude = await segmentOf(names.slice(20, -20))
  return { segment_id: await segmentOf(names), exclude_segment_ids: [exclude] }
}

/** Where the daemon dies, and how many recipients may get a second copy because their email was in flight. */
const POINTS: [`${CrashPoint}:${number}`, number][] = [
  ['expand-before-commit:1', 0],
  ['expand-before-commit:2', 0],
  ['expand-after-commit:1', 0],
  ['enqueue-before-commit:1', 0],
  ['enqueue-after-commit:1', 0],
  // The lease is committed.
  ['connect:1', 0],
  ['remote-250:5', ON_THE_WIRE],
  ['settle-before-commit:2', ON_THE_WIRE],
  ['settle-after-commit:2', ON_THE_WIRE],
]

test('a kill at any crash point loses no recipients, and duplicates only emails in flight', async () => {
  const parts = await segmentInTwoParts()
  for (const [point, twice] of POINTS) {
    expect(await daemon.stop()).toBe(0)
    await daemon.start({ [CRASH_POINT_VARIABLE]: point })
    const id = await send({ ...parts, subject: point })
    expect([point, await daemon.died()]).toEqual([point, 'SIGKILL'])
    await daemon.start()
    await untilAllGot(point, 40)
    await untilSent(id, 40)
    expect(readers(point).length, point).toBeLessThanOrEqual(40 + twice)
  }
}, 400_000)

test('a restored backup does not resend emails sent after the backup', async () => {
  const parts = await segmentInTwoParts()
  await daemon.call('POST', '/lanes/auto~busy.test/pause', {})
  const id = await send({ ...parts, subject: 'Once' })
  await untilEnqueued(id, 40)
  const file = join(dirname(daemon.dataDir), 'midway.backup')
  expect(await run(['backup', file, '--config', daemon.config])).toMatchObject({ code: 0 })
  await daemon.call('POST', '/lanes/auto~busy.test/resume')
  await untilAllGot('Once', 40)
  expect(await daemon.stop()).toBe(0)
  const restored = `${daemon.dataDir}-restored`
  expect(await run(['restore', file, '--data-dir', restored])).toMatchObject({ code: 0 })
  await daemon.start({ POSTHASTE_DATA_DIR: restored })
  const { pause_reason: reason } = await daemon.call<{ pause_reason: string }>('GET', `/broadcasts/${id}`)
  expect(reason).toContain('backup')
  // Today's mail can be sent because the lane is open, but everything from the backup is held until someone releases
  // it.
  await daemon.call('POST', '/lanes/auto~busy.test/resume')
  const fresh = { from: 'a@sender.test', to: 'fresh@busy.test', subject: 'Fresh', text: 'x' }
  await daemon.call('POST', '/emails', fresh)
  await untilAllGot('Fresh', 1)
  await daemon.call('POST', `/broadcasts/${id}/resume`)
  await daemon.call('POST', `/broadcasts/${id}/cancel`)
  expect(await daemon.call('GET', `/broadcasts/${id}`)).toMatchObject({ status: 'canceled' })
  expect(readers('Once')).toHaveLength(40)
  expect(await daemon.stop()).toBe(0)
}, 400_000)
