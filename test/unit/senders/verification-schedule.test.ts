import { describe, expect, test } from 'vitest'
import {
  advanceVerification,
  startVerification,
  postponeCheck,
  summarizeChecks,
  type CheckSummary,
} from '../../../appliance/senders/verification-schedule.ts'
import { buildExpectedRecords } from '../../../appliance/senders/records.ts'
import type { DomainStatus, VerificationSchedule, RecordStatus } from '../../../appliance/storage/storage.ts'
import { maySend } from '../../../appliance/senders/senders.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const T0 = Date.UTC(2026, 0, 1)

type State = { status: DomainStatus; statusSince: number; createdAt: number } & VerificationSchedule

const at = (status: DomainStatus, watch: Partial<VerificationSchedule> = {}): State => ({
  status,
  statusSince: T0,
  createdAt: T0,
  verifyUntil: null,
  suspect: null,
  nextCheckAt: null,
  ...watch,
})

/** Returns the next state, as storage would keep it. */
const next = (before: State, summary: CheckSummary, now: number): State => {
  const { status, watch } = advanceVerification(before, summary, now, 0)
  return {
    ...before,
    ...watch,
    status,
    statusSince: status === before.status ? before.statusSince : now,
  }
}

/**
 * Repeats the same result until the status changes or nothing is due. Returns the times of the checks after `from`, and
 * the last state.
 */
function until(before: State, summary: CheckSummary, most: number): { looks: number[]; state: State } {
  const looks: number[] = []
  let state = before
  while (looks.length < most && state.status === before.status) {
    const now = state.nextCheckAt!
    looks.push(now - T0)
    state = next(state, summary, now)
  }
  return { looks, state }
}

describe('a domain verification', () => {
  test('a new domain is checked soon, then less and less often, and fails after 72 hours', () => {
    const begun = startVerification(at('not_started'), T0)
    expect(begun).toEqual({
      status: 'pending',
      watch: { verifyUntil: T0 + 72 * hour, suspect: null, nextCheckAt: T0 },
    })
    const { looks, state } = until(at('pending', begun.watch), 'broken', 1000)
    expect(looks.slice(0, 5)).toEqual([0, 30_000, 60_000, 90_000, 135_000])
    expect(looks.at(-1)).toBe(72 * hour)
    expect(Math.max(...looks.slice(1).map((look, index) => look - looks[index]!))).toBe(2 * hour)
    expect(looks.length).toBeLessThan(60)
    expect(state.status).toBe('failed')
    expect(state.verifyUntil).toBeNull()
  })

  test('verification succeeds as soon as all records are right, even long after it failed', () => {
    for (const status of ['not_started', 'pending', 'failed', 'partially_failed'] as const)
      expect(advanceVerification(at(status, { verifyUntil: T0 + 1 }), 'whole', T0 + day, 0.5)).toEqual({
        status: 'verified',
        watch: { verifyUntil: null, suspect: null, nextCheckAt: T0 + day + 1.05 * day },
      })
    const { looks } = until(at('failed', { nextCheckAt: T0 }), 'broken', 20)
    expect(looks.at(-1)! - looks.at(-2)!).toBe(day)
  })

  test('verifying a domain that may send does not stop its mail', () => {
    for (const status of ['verified', 'partially_failed'] as const) {
      expect(maySend(status)).toBe(true)
      expect(startVerification(at(status), T0)).toMatchObject({ status, watch: { nextCheckAt: T0 } })
    }
    expect(startVerification(at('failed'), T0)).toMatchObject({ status: 'pending' })
  })
})

describe('a verified domain', () => {
  test('a verified domain is checked once a day', () => {
    expect(next(at('verified'), 'whole', T0).nextCheckAt).toBe(T0 + day)
  })

  test.each([
    ['broken', 'failed'],
    ['partial', 'partially_failed'],
  ] as const)('that is %s in two checks 15 minutes apart becomes %s', (summary, status) => {
    const first = next(at('verified'), summary, T0)
    expect(first).toMatchObject({
      status: 'verified',
      suspect: { status, since: T0 },
      nextCheckAt: T0 + 15 * minute,
    })
    const impatient = next(first, summary, T0 + minute)
    expect(impatient).toMatchObject({ status: 'verified', nextCheckAt: T0 + 15 * minute })
    expect(next(impatient, summary, T0 + 15 * minute)).toMatchObject({ status, suspect: null })
  })

  test('a verified domain is no longer suspect once all its records are right', () => {
    const first = next(at('verified'), 'broken', T0)
    expect(next(first, 'whole', T0 + minute)).toMatchObject({ status: 'verified', suspect: null })
  })

  test('a verified domain keeps its status while DNS results are unknown', () => {
    let state = at('verified')
    for (let look = 0; look < 50; look++) state = next(state, 'unknown', T0 + look * hour)
    expect(state).toMatchObject({ status: 'verified', suspect: null })
    const suspected = next(at('verified'), 'broken', T0)
    expect(next(suspected, 'unknown', T0 + hour)).toMatchObject({
      status: 'verified',
      suspect: { since: T0 },
    })
  })

  test('a partially failed domain does not fail after one bad check', () => {
    const partly = next(next(at('verified'), 'partial', T0), 'partial', T0 + hour)
    expect(partly.status).toBe('partially_failed')
    const once = next(partly, 'broken', T0 + 2 * hour)
    expect(once.status).toBe('partially_failed')
    expect(next(once, 'partial', T0 + 3 * hour)).toMatchObject({ status: 'partially_failed', suspect: null })
    expect(next(once, 'broken', T0 + 3 * hour).status).toBe('failed')
    const worse = next(next(at('verified'), 'partial', T0), 'broken', T0 + hour)
    expect(worse).toMatchObject({ status: 'verified', suspect: { status: 'failed', since: T0 + hour } })
  })

  test('a verified domain keeps its status when a check fails on our side', () => {
    expect(postponeCheck(at('verified', { suspect: null }), T0)).toEqual({
      status: 'verified',
      watch: { verifyUntil: null, suspect: null, nextCheckAt: T0 + 15 * minute },
    })
  })
})

describe('the summary of record checks', () => {
  const key = { algorithm: 'rsa-sha256' as const, publicKey: 'AAAA', retireAt: null }
  const host = { hostname: 'mail.example.net', sourceIps: [] }
  const records = buildExpectedRecords(
    { id: 'd1', name: 'example.com', returnPath: 'send' },
    [
      { ...key, selector: 'one', state: 'active' },
      { ...key, selector: 'two', state: 'pending' },
    ],
    host,
  )
  const see = (statuses: Record<string, RecordStatus>): CheckSummary =>
    summarizeChecks(
      records,
      Object.entries(statuses).map(([name, status]) => ({
        key: name,
        status,
        found: [],
        note: null,
        checkedAt: T0,
        since: T0,
      })),
    )
  const fine = { 'DKIM one': 'verified', 'SPF MX': 'verified', SPF: 'verified' } as const

  test.each([
    ['whole', { ...fine, 'DKIM two': 'failed', DMARC: 'failed' }],
    ['broken', { ...fine, 'DKIM one': 'failed' }],
    ['broken', { ...fine, 'DKIM one': 'pending', SPF: 'failed' }],
    ['partial', { ...fine, SPF: 'failed' }],
    ['partial', { ...fine, 'SPF MX': 'pending', 'DKIM one': 'temporary_failure' }],
    ['unknown', { ...fine, SPF: 'temporary_failure' }],
    ['broken', {}],
  ] as const)('is %s for %j', (summary, statuses) => {
    expect(see(statuses)).toBe(summary)
  })

  test('the summary is broken without a signing key', () => {
    const keyless = records.filter(({ record }) => record !== 'DKIM')
    const checks = keyless.map((record) => ({
      key: record.key,
      status: 'verified' as const,
      found: [],
      note: null,
      checkedAt: T0,
      since: T0,
    }))
    expect(summarizeChecks(keyless, checks)).toBe('broken')
  })
})
