import * as fc from '../world/fast-check.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { breakDownInChunks, sumInChunks } from '../../appliance/events/metrics-pieces.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { BreakdownSum, DeliveryChange, MetricsSum, Storage } from '../../appliance/storage/storage.ts'
import { sumUpMetrics } from '../../appliance/housekeeping/housekeeping.ts'
import {
  change,
  DAY,
  leaseArgs,
  makeTeam,
  MINUTE,
  newEmail,
  putArgs,
  putEmail,
  T0,
  unique,
} from './fixtures.ts'

const QUARTER = 15 * MINUTE

/** Tests of metrics: every event counts once, and roll-ups can be rebuilt from the events. */
export function metricsContract(use: () => Storage): void {
  let storage: Storage
  let teamId: string
  beforeEach(async () => {
    storage = use()
    teamId = (await makeTeam(storage)).team.id
  })

  const whole = [{ start: T0, end: T0 + 1000 * QUARTER }]
  const plain = (sums: readonly MetricsSum[]): Record<string, number> => {
    const counters: Record<string, number> = {}
    for (const { counter, n } of sums) counters[counter] = (counters[counter] ?? 0) + n
    return Object.fromEntries(Object.entries(counters).sort(([a], [b]) => a.localeCompare(b)))
  }
  const counted = async (): Promise<Record<string, number>> =>
    plain(await storage.sumMetrics({ teamId, ranges: whole }, T0))
  const recompute = () => storage.recomputeMetrics({ teamId, start: T0, end: T0 + 96 * QUARTER }, T0)
  const bounce = (id: string, type: 'Permanent' | 'Transient'): DeliveryChange => {
    const bounced = change(id, 'bounced', 'email.bounced')
    const about = { type, subType: 'General' as const, message: '', diagnosticCode: [] }
    return { ...bounced, event: { ...bounced.event!, id: newId(T0), data: { bounce: about } } }
  }
  /** Leases what is due, and settles it. */
  const settle = async (now: number, outcome: (id: string) => DeliveryChange): Promise<void> => {
    const leased = await storage.lease(leaseArgs({ leaseUntil: now + 30 * MINUTE }), now)
    await storage.settle({ owner: 'one', attempt: null, changes: leased.map(({ id }) => outcome(id)) }, now)
  }

  describe('roll-ups', () => {
    test('roll-ups count an email once for each recipient that it is sent to', async () => {
      await putEmail(storage, teamId, ['a@x.test', 'b@x.test', 'c@y.test'])
      expect(await counted()).toEqual({})
      await settle(T0, (id) => change(id, 'delivered', 'email.delivered'))
      expect(await counted()).toEqual({ delivered: 3, sent: 3 })
    })

    test('roll-ups count bounces by class', async () => {
      await putEmail(storage, teamId, ['a@x.test'])
      await settle(T0, (id) => bounce(id, 'Permanent'))
      await putEmail(storage, teamId, ['a@x.test', 'b@x.test'])
      await settle(T0, (id) => bounce(id, 'Transient'))
      expect(await counted()).toEqual({ bounced_permanent: 1, bounced_transient: 2, sent: 3 })
    })

    test('roll-ups count suppressed recipients, and deliveries that an operator drops', async () => {
      const email = newEmail(teamId, ['a@x.test', 'b@x.test'])
      const cause = { phase: 'queue' as const, host: null, ip: null, reply: null, note: 'on the list' }
      email.deliveries[0]!.suppressed = cause
      await storage.put(putArgs(email), T0)
      await storage.dropQueue({ emailId: email.id }, T0)
      expect(await counted()).toEqual({ failed: 1, suppressed: 1 })
    })

    test('roll-ups belong to the quarter hour of the event and to the domain of the email', async () => {
      const [one, other] = [newId(T0), newId(T0)]
      await putEmail(storage, teamId, ['a@x.test'], T0, { domainId: one })
      await settle(T0 + QUARTER - 1, (id) => change(id, 'delivered', 'email.delivered'))
      await putEmail(storage, teamId, ['a@x.test'], T0, { domainId: other })
      await settle(T0 + QUARTER, (id) => change(id, 'delivered', 'email.delivered'))
      const ranges = [0, 1, 2].map((n) => ({ start: T0 + n * QUARTER, end: T0 + (n + 1) * QUARTER }))
      const sums = await storage.sumMetrics({ teamId, ranges }, T0)
      expect(sums.filter(({ counter }) => counter === 'delivered')).toEqual([
        { start: T0, domainId: one, counter: 'delivered', n: 1 },
        { start: T0 + QUARTER, domainId: other, counter: 'delivered', n: 1 },
      ])
      const mine = await storage.sumMetrics({ teamId, ranges: whole, domainIds: [other] }, T0)
      expect(plain(mine)).toEqual({ delivered: 1, sent: 1 })
    })

    test('roll-ups can be summed over all domains', async () => {
      for (const domainId of [newId(T0), newId(T0)])
        await putEmail(storage, teamId, ['a@x.test'], T0, { domainId })
      await settle(T0, (id) => change(id, 'delivered', 'email.delivered'))
      const sums = await storage.sumMetrics({ teamId, ranges: whole, together: true }, T0)
      expect(sums.sort((a, b) => a.counter.localeCompare(b.counter))).toEqual([
        { start: T0, domainId: '', counter: 'delivered', n: 2 },
        { start: T0, domainId: '', counter: 'sent', n: 2 },
      ])
    })

    test('hides roll-ups from other teams', async () => {
      await putEmail(storage, teamId, ['a@x.test'])
      await settle(T0, (id) => change(id, 'delivered', 'email.delivered'))
      const other = (await makeTeam(storage)).team.id
      expect(await storage.sumMetrics({ teamId: other, ranges: whole }, T0)).toEqual([])
    })

    test('roll-ups count no outcome for a delivery whose lease was lost', async () => {
      await putEmail(storage, teamId, ['a@x.test'])
      const [leased] = await storage.lease(leaseArgs(), T0)
      const changes = [change(leased!.id, 'delivered', 'email.delivered')]
      await storage.settle({ owner: 'another', attempt: null, changes }, T0)
      expect(await counted()).toEqual({ sent: 1 })
    })
  })

  describe('breaking down metrics', () => {
    const counters = ['sent', 'delivered']
    const [range] = whole
    const three = async (): Promise<[string, string, string]> => {
      const ids: [string, string, string] = [newId(T0), newId(T0), newId(T0)]
      for (const [n, domainId] of ids.entries())
        for (let i = 0; i <= n; i++) await putEmail(storage, teamId, [`a@d${n}.test`], T0, { domainId })
      await settle(T0, (id) => change(id, 'delivered', 'email.delivered'))
      return ids
    }
    const sorted = (rows: BreakdownSum[]) =>
      rows
        .map(({ value, counter, n }) => [value, counter, n] as const)
        .sort(([a, x], [b, y]) => `${a} ${x}`.localeCompare(`${b} ${y}`))

    test('returns the largest domains separately and sums all others', async () => {
      const [, second, third] = await three()
      const found = await storage.breakDownMetrics(
        { teamId, range: range!, by: 'domain', counters, most: 2 },
        T0,
      )
      expect(sorted(found)).toEqual(
        sorted([
          { value: null, counter: 'delivered', n: 1 },
          { value: null, counter: 'sent', n: 1 },
          { value: second, counter: 'delivered', n: 2 },
          { value: second, counter: 'sent', n: 2 },
          { value: third, counter: 'delivered', n: 3 },
          { value: third, counter: 'sent', n: 3 },
        ]),
      )
    })

    test('breaks down metrics by provider, filtered by domain, provider and time', async () => {
      const [, second, third] = await three()
      const about = { teamId, by: 'provider', counters: ['delivered'], most: 9 } as const
      const both = { ...about, range: range!, domainIds: [second, third] }
      expect(sorted(await storage.breakDownMetrics(both, T0))).toEqual([
        ['?d1.test', 'delivered', 2],
        ['?d2.test', 'delivered', 3],
      ])
      expect(await storage.breakDownMetrics({ ...both, providers: ['?d2.test'] }, T0)).toEqual([
        { value: '?d2.test', counter: 'delivered', n: 3 },
      ])
      const later = { start: T0 + QUARTER, end: T0 + 2 * QUARTER }
      expect(await storage.breakDownMetrics({ ...both, range: later }, T0)).toEqual([])
      const ofOne = await storage.sumMetrics({ teamId, ranges: whole, providers: ['?d1.test'] }, T0)
      expect(plain(ofOne)).toEqual({ delivered: 2 })
    })

    test('also counts a bounce by its category', async () => {
      await putEmail(storage, teamId, ['a@x.test'])
      await settle(T0, (id) => {
        const bounced = bounce(id, 'Permanent')
        const data = { bounce: { ...bounced.event!.data.bounce!, category: 'mailbox-full' as const } }
        return { ...bounced, event: { ...bounced.event!, data } }
      })
      const sums = { 'bounced_about_mailbox-full': 1, bounced_permanent: 1, sent: 1 }
      expect(await counted()).toEqual(sums)
      expect(await recompute()).toEqual({ changed: 0, left: 0 })
    })
  })

  describe('counting from events', () => {
    test('returns metrics of single emails, and rejects queries over too many events', async () => {
      const email = await putEmail(storage, teamId, ['a@x.test'])
      await putEmail(storage, teamId, ['b@x.test'])
      await settle(T0, (id) => change(id, 'delivered', 'email.delivered'))
      const all = await storage.sumEmailMetrics({ teamId, ranges: whole, mostEvents: 4 }, T0)
      expect(all).toHaveLength(4)
      const one = { teamId, ranges: whole, emailIds: [email.id], mostEvents: 4 }
      expect(plain((await storage.sumEmailMetrics(one, T0))!)).toEqual({ delivered: 1, sent: 1 })
      expect(await storage.sumEmailMetrics({ teamId, ranges: whole, mostEvents: 3 }, T0)).toBeUndefined()
    })
  })

  describe('recomputing metrics', () => {
    test('finds the first and last event of each team', async () => {
      await putEmail(storage, teamId, ['a@x.test'])
      await settle(T0 + MINUTE, (id) => change(id, 'delivered', 'email.delivered'))
      const span = (await storage.metricsSpans({}, T0)).find((one) => one.teamId === teamId)
      expect(span).toEqual({ teamId, first: T0, last: T0 + MINUTE })
    })

    test('recomputed metrics match the roll-ups, for any sequence of events', async () => {
      const outcomes = ['delivered', 'delayed', 'permanent', 'transient', 'failed'] as const
      const email = fc.record({
        recipients: fc.integer({ min: 1, max: 4 }),
        outcome: fc.constantFrom(...outcomes),
        after: fc.integer({ min: 0, max: 90 }),
        dropped: fc.boolean(),
      })
      const changeOf = (id: string, outcome: (typeof outcomes)[number]): DeliveryChange => {
        if (outcome === 'permanent') return bounce(id, 'Permanent')
        if (outcome === 'transient') return bounce(id, 'Transient')
        const type = outcome === 'delayed' ? 'email.delivery_delayed' : (`email.${outcome}` as const)
        const state = outcome === 'delayed' ? 'waiting' : outcome
        const made = change(id, state, type, T0 + 10 * QUARTER)
        return { ...made, event: { ...made.event!, id: newId(T0) } }
      }
      await fc.assert(
        fc.asyncProperty(fc.array(email, { maxLength: 6 }), async (emails) => {
          for (const { recipients, outcome, after, dropped } of emails) {
            const to = Array.from({ length: recipients }, (_, n) => `${n}@${unique('x')}.test`)
            const { id } = await putEmail(storage, teamId, to)
            if (dropped) await storage.dropQueue({ emailId: id }, T0 + after * MINUTE)
            await settle(T0 + after * MINUTE, (one) => changeOf(one, outcome))
          }
          const before = await counted()
          expect(await recompute()).toEqual({ changed: 0, left: 0 })
          expect(await counted()).toEqual(before)
        }),
        { numRuns: 12 },
      )
    })
  })
  describe('daily sums', () => {
    const [HOUR, WEEK] = [4 * QUARTER, 7 * DAY]
    /** A Monday, two weeks and three days before the current day. */
    const MONDAY = Date.UTC(2026, 0, 5)
    const TODAY = MONDAY + 17 * DAY
    const days = { start: MONDAY - DAY, end: TODAY + DAY }
    const sumUp = () => sumUpMetrics(storage, { now: () => TODAY + HOUR })
    const sumUpOne = async () => {
      while (await storage.sumMetricsUp({ teamId }, TODAY + HOUR));
    }

    /**
     * Stores emails at these times, from one of three domains to one of three providers. Each fails at once and
     * increments a counter.
     */
    const domains = [newId(T0), newId(T0), newId(T0)]
    const fail = async (at: number, n = 0): Promise<void> => {
      const { id } = await putEmail(storage, teamId, [`a@d${n % 3}.test`], at, { domainId: domains[n % 3]! })
      await storage.dropQueue({ emailId: id }, at)
    }
    const sumOf = async (length: number | undefined, range = days): Promise<number> => {
      const found = await storage.sumMetrics({ teamId, ranges: [range], together: true, length }, T0)
      return found.find(({ counter }) => counter === 'failed')?.n ?? 0
    }

    test('daily sums are complete up to midnight, and weekly sums once the last day is over', async () => {
      for (const day of [0, 3, 6, 7, 16, 17]) await fail(MONDAY + day * DAY + 5 * HOUR)
      expect(await storage.metricsSummed({ teamId }, T0)).toBe(0)
      expect(await storage.metricsToSum({}, TODAY + HOUR)).toContain(teamId)
      expect(await storage.sumMetricsUp({ teamId }, TODAY + HOUR)).toBe(true)
      expect(await storage.metricsSummed({ teamId }, T0)).toBe(MONDAY + DAY)
      expect([await sumOf(HOUR), await sumOf(DAY), await sumOf(WEEK)]).toEqual([1, 1, 0])
      await sumUpOne()
      expect(await storage.metricsSummed({ teamId }, T0)).toBe(TODAY)
      // The week of the current day has no roll-up.
      const weeks = { start: MONDAY, end: MONDAY + 3 * WEEK }
      expect([await sumOf(HOUR), await sumOf(DAY), await sumOf(WEEK, weeks)]).toEqual([5, 5, 4])
      expect(await storage.metricsToSum({}, TODAY + HOUR)).not.toContain(teamId)
      expect(await storage.sumMetricsUp({ teamId }, TODAY + HOUR)).toBe(false)
    })

    test('computes daily sums for all teams, and leaves nothing to do', async () => {
      await fail(MONDAY)
      const other = (await makeTeam(storage)).team.id
      expect(await sumUp()).toBeGreaterThan(0)
      expect(await storage.metricsSummed({ teamId }, T0)).toBe(TODAY)
      expect(await storage.metricsSummed({ teamId: other }, T0)).toBe(0)
      expect(await sumUp()).toBe(0)
    })

    test('daily sums include late events at once', async () => {
      await fail(MONDAY + HOUR)
      await sumUpOne()
      await fail(MONDAY + HOUR)
      await fail(MONDAY + HOUR, 1)
      await fail(TODAY - 1, 2)
      const inWeek = { start: MONDAY, end: MONDAY + WEEK }
      expect([await sumOf(HOUR), await sumOf(DAY), await sumOf(WEEK, inWeek)]).toEqual([4, 4, 3])
      expect(await storage.recomputeMetrics({ teamId, start: MONDAY, end: TODAY }, T0)).toEqual({
        changed: 0,
        left: 0,
      })
    })

    const event = fc.record({
      at: fc.integer({ min: MONDAY / QUARTER, max: (TODAY + DAY) / QUARTER - 1 }).map((n) => n * QUARTER),
      of: fc.nat({ max: 8 }),
      late: fc.boolean(),
    })

    test('daily sums match the quarter hours for any range, breakdown and order of events', async () => {
      const asked = fc.record({
        step: fc.constantFrom(HOUR, DAY, WEEK),
        from: fc.integer({ min: 0, max: 40 * 96 }),
        quarters: fc.integer({ min: 1, max: 25 * 96 }),
        domains: fc.constantFrom(undefined, [0], [0, 2]),
        providers: fc.constantFrom(undefined, ['?d1.test'], ['?d0.test', '?d2.test']),
        together: fc.boolean(),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.array(event, { minLength: 1, maxLength: 6 }),
          fc.array(asked, { minLength: 6, maxLength: 6 }),
          async (events, questions) => {
            teamId = (await makeTeam(storage)).team.id
            for (const { at, of, late } of events) if (!late) await fail(at, of % 3)
            await sumUpOne()
            for (const { at, of, late } of events) if (late) await fail(at, of % 3)
            for (const question of questions) await compare(question)
            const all = { teamId, start: MONDAY - DAY, end: TODAY + DAY }
            expect(await storage.recomputeMetrics(all, T0)).toEqual({ changed: 0, left: 0 })
          },
        ),
        { numRuns: 3 },
      )

      /** Compares the result from roll-ups and quarter hours with that from quarter hours alone. */
      async function compare({ step, from, quarters, together, ...only }: Asked): Promise<void> {
        const start = MONDAY - DAY + (from % (18 * 96)) * QUARTER
        const range = { start, end: start + quarters * QUARTER }
        const count = Math.ceil((range.end - start) / step)
        const ranges = Array.from({ length: count }, (_, i) => ({
          start: start + i * step,
          end: Math.min(start + (i + 1) * step, range.end),
        }))
        const domainIds = only.domains?.map((n) => domains[n]!)
        const about = { teamId, domainIds, providers: only.providers && [...only.providers] }
        const query = { ...about, ranges, together }
        const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()
        const plain = await storage.sumMetrics(query, T0)
        expect(sorted(await sumInChunks(storage, query, T0))).toEqual(sorted(plain))
        for (const by of ['domain', 'provider'] as const) {
          const broken = { ...about, range, by, counters: ['failed', 'sent'], most: 2 }
          const whole = await storage.breakDownMetrics(broken, T0)
          expect(sorted(await breakDownInChunks(storage, broken, T0))).toEqual(sorted(whole))
        }
      }
      interface Asked {
        step: number
        from: number
        quarters: number
        domains: readonly number[] | undefined
        providers: readonly string[] | undefined
        together: boolean
      }
    })
  })
}
