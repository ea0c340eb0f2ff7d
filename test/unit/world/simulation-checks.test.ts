import { describe, expect, test } from 'vitest'
import type { Stream } from '../../../appliance/mail/source.ts'
import { createLaneState, createPace, type LaneState } from '../../../appliance/shaping/shaping.ts'
import { checkMoments } from '../../world/simulation/check.ts'
import { checkPromptness, checkStreams, checkTeams, type Day } from '../../world/simulation/fairness.ts'
import { LaneHistory, type LaneSample } from '../../world/simulation/lane-log.ts'
import { shippedProviders } from '../../world/simulation/limits.ts'
import { PERSONALITIES } from '../../world/simulation/personalities.ts'
import type { Plan, PlannedDelivery } from '../../world/simulation/plan.ts'
import type { Answer, Connection } from '../../world/simulation/record.ts'

const MINUTE = 60_000

describe('checking a simulated lane', () => {
  const provider = shippedProviders().get('google')
  const lane = (at: number, change: Partial<LaneState>): LaneSample => ({
    at,
    source: '127.1.1.1',
    provider: 'google',
    state: { ...createLaneState(provider.limits), ...change },
  })
  const pause = { at: 10 * MINUTE, until: 20 * MINUTE, by: 'reply' as const }
  const slow = { until: 40 * MINUTE, messagesPerMinute: 10, connections: 1 }
  const history = new LaneHistory(
    [
      lane(10 * MINUTE, { pause, slow, pace: createPace(30), connections: 2 }),
      lane(50 * MINUTE, { pace: createPace(90) }),
    ],
    provider.limits,
  )
  const connection = (change: Partial<Connection>): Connection => ({
    id: 0,
    personality: 'gmail',
    host: 'mx.gmail.test',
    ip: '127.1.1.1',
    openedAt: 0,
    closedAt: 0,
    abreast: 1,
    transactions: [],
    encrypted: false,
    ...change,
  })
  const check = (...connections: Connection[]) => checkMoments({ answers: [], connections }, () => history)
  const every = (ms: number, from: number, count: number) =>
    Array.from({ length: count }, (_, n) => from + n * ms)

  test('reads the limits of a lane over time, which widen after narrow limits end', () => {
    const rates = [0, 15, 25, 45, 55].map((minute) => history.at(minute * MINUTE).rate)
    expect(rates).toEqual([1200, 0, 10, 30, 90])
    expect(history.most(21 * MINUTE, 30 * MINUTE)).toEqual({ connections: 5, rate: 90 })
    expect(history.silences).toEqual([{ from: 10 * MINUTE, to: 20 * MINUTE }])
  })

  test('a simulated lane passes if it stays within its limits', () => {
    const slowly = every(6000, 21 * MINUTE, 30)
    expect(check(connection({ abreast: 5 }), connection({ transactions: slowly }))).toEqual([])
  })

  test('reports too many connections, too many messages a minute, and mail during a pause', () => {
    expect(check(connection({ abreast: 6 }))).toEqual([
      '127.1.1.1 had 6 connections to gmail when its lane allowed 5',
    ])
    expect(check(connection({ transactions: [15 * MINUTE] }))).toEqual([
      '127.1.1.1 sent 1 messages to gmail although it was paused',
    ])
    expect(check(connection({ transactions: every(100, 55 * MINUTE, 91) }))).toEqual([
      '127.1.1.1 sent 91 messages to gmail in a minute in which its lane allowed 90',
    ])
  })
})

describe('checking turns in the simulation', () => {
  const gmail = PERSONALITIES.find(({ name }) => name === 'gmail')!
  const plain = PERSONALITIES.find(({ name }) => name === 'plain')!
  const planned = (order: readonly { team: number; stream: Stream }[], personality = gmail) => {
    const deliveries = order.map(({ team, stream }, n): PlannedDelivery => {
      const recipient = `r${n}-ok@${personality.name}.test`
      return { recipient, personality, mailbox: 'ok', team, stream }
    })
    const plan: Plan = { emails: [], deliveries: new Map(deliveries.map((one) => [one.recipient, one])) }
    const answers = deliveries.map(({ recipient }, n): Answer => ({
      at: 1000 * (n + 1),
      personality: personality.name,
      connection: 0,
      recipient,
      verdict: 'said',
      code: 250,
    }))
    const days: Day[] = [{ recipients: new Set(plan.deliveries.keys()), acceptedAt: 0, took: 0 }]
    return { plan, records: { answers, connections: [] }, days }
  }
  const t = { team: 0, stream: 'transactional' } as const
  const b = { team: 0, stream: 'broadcast' } as const
  const times = <T>(count: number, make: (n: number) => T): T[] =>
    Array.from({ length: count }, (_, n) => make(n))

  test('reports broadcast mail that precedes waiting transactional mail', () => {
    const first = planned([...times(50, () => t), ...times(50, () => b)])
    expect(checkStreams(first.plan, first.records, first.days, 'gmail')).toEqual([])
    const mixed = planned(times(100, (n) => (n % 2 ? t : b)))
    expect(checkStreams(mixed.plan, mixed.records, mixed.days, 'gmail')).toEqual([
      'on day 1 45 of the 90 messages that gmail saw while transactional ones waited were broadcast',
    ])
  })

  test('reports unequal turns of teams', () => {
    const fair = planned(times(120, (n) => ({ ...t, team: n % 3 })))
    expect(checkTeams(fair.plan, fair.records, fair.days, 'gmail')).toEqual([])
    const unfair = planned([...times(60, () => t), ...times(60, (n) => ({ ...t, team: (n % 2) + 1 }))])
    expect(checkTeams(unfair.plan, unfair.records, unfair.days, 'gmail')).toEqual([
      'on day 1 the teams had 54, 0, 0 turns at gmail while transactional mail of each waited',
    ])
  })

  test('reports if there was too little mail to compare', () => {
    const few = planned([t, b])
    expect(checkStreams(few.plan, few.records, few.days, 'gmail')).toHaveLength(1)
    expect(checkTeams(few.plan, few.records, few.days, 'gmail')).toHaveLength(1)
  })

  test('reports mail that comes later than its lane allows', () => {
    const { plan, records, days } = planned([b], plain)
    expect(checkPromptness(plan, records, days, () => 6000)).toEqual([])
    records.answers[0]!.at = 130_000
    expect(checkPromptness(plan, records, days, () => 6000)).toEqual([
      'the last of 1 messages of day 1 came to plain 130 s after they were accepted, 120 s are fair',
    ])
    expect(checkPromptness(plan, records, days, () => 1)).toEqual([])
  })
})
