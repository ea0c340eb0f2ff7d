import { describe, expect, test } from 'vitest'
import { createSharedDoctor } from '../../../appliance/insights/insights.ts'
import type { Finding } from '../../../appliance/mail/finding.ts'
import type { Domain } from '../../../appliance/storage/storage.ts'
import { createTestClock } from '../../world/clock.ts'

const finding = (id: string, status: Finding['status']): Finding => ({
  id,
  title: id,
  status,
  found: '',
  advice: null,
})

/** Creates a doctor whose examination continues when the test says so. */
function slowDoctor() {
  const clock = createTestClock()
  const looks: { tell: (found: Finding[]) => void; end: (found: Finding[]) => void; fail: () => void }[] = []
  const doctor = createSharedDoctor(
    clock,
    (_: Domain | undefined, tell) =>
      new Promise((end, reject) => looks.push({ tell, end, fail: () => reject(new Error('no storage')) })),
  )
  return { clock, doctor, looks }
}

describe('the latest doctor results', () => {
  test('the latest results are produced on first request, kept for 15 minutes, and never waited for', async () => {
    const { clock, doctor, looks } = slowDoctor()
    expect(doctor.latest()).toBeNull()
    expect(doctor.latest()).toBeNull()
    expect(looks).toHaveLength(1)
    looks[0]!.end([finding('port25', 'failed')])
    await expect.poll(() => doctor.latest()?.findings.map(({ id }) => id)).toEqual(['port25'])
    await clock.advance(14 * 60_000)
    expect(doctor.latest()?.findings).toHaveLength(1)
    expect(looks).toHaveLength(1)
    await clock.advance(60_000)
    expect(doctor.latest()?.findings).toHaveLength(1)
    expect(looks).toHaveLength(2)
    looks[1]!.end([])
    await expect.poll(() => doctor.latest()?.findings).toEqual([])
  })

  test('the latest results come from any run, and a failed run is retried later', async () => {
    const { clock, doctor, looks } = slowDoctor()
    expect(doctor.latest()).toBeNull()
    looks[0]!.fail()
    await clock.advance(60_000)
    expect([doctor.latest(), looks.length]).toEqual([null, 1])
    const own = doctor.examine()
    looks[1]!.end([finding('disk', 'ok')])
    await own
    await clock.advance(14 * 60_000)
    expect(doctor.latest()?.findings).toHaveLength(1)
    expect(looks).toHaveLength(2)
  })
})

describe('watching a doctor run', () => {
  test('watching a run shows the findings so far, failures first, then all of them', async () => {
    const { doctor, looks } = slowDoctor()
    expect(await doctor.watch()).toMatchObject({ findings: [], complete: false })
    looks[0]!.tell([finding('clock', 'ok')])
    looks[0]!.tell([finding('port25', 'failed')])
    const half = await doctor.watch()
    expect([half.findings.map(({ id }) => id), half.complete]).toEqual([['port25', 'clock'], false])
    looks[0]!.end([finding('port25', 'failed'), finding('disk', 'ok'), finding('clock', 'ok')])
    const whole = await doctor.watch()
    expect([whole.findings.map(({ id }) => id), whole.complete]).toEqual([['port25', 'disk', 'clock'], true])
    expect(looks).toHaveLength(1)
  })

  test('watching shares the run with other callers, and keeps a slow run until it ends', async () => {
    const { clock, doctor, looks } = slowDoctor()
    const waiting = doctor.examine()
    await clock.advance(60_000)
    expect((await doctor.watch()).complete).toBe(false)
    looks[0]!.end([])
    expect((await waiting).findings).toEqual([])
    expect((await doctor.watch()).complete).toBe(true)
    await clock.advance(10_000)
    expect((await doctor.watch()).complete).toBe(false)
    expect(looks).toHaveLength(2)
  })

  test('watching starts a new run after a failed one', async () => {
    const { doctor, looks } = slowDoctor()
    const waiting = doctor.examine()
    looks[0]!.fail()
    await expect(waiting).rejects.toThrow('no storage')
    expect((await doctor.watch()).complete).toBe(false)
    expect(looks).toHaveLength(2)
  })
})
