import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { formatDestination, type QueueNameParts } from '../../../appliance/mail/queue.ts'
import { splitIntoBatches } from '../../../appliance/delivery/attempt.ts'
import type { LeasedDelivery } from '../../../appliance/storage/storage.ts'
import { createLeaseFunction } from '../../../appliance/storage/spool/lease.ts'
import { leaseArgs, T0 } from '../../contract/fixtures.ts'
import { fill, openMemory, type Waiting } from './waiting.ts'

const STREAMS = ['transactional', 'broadcast'] as const

/** Some deliveries of one team in one queue. */
const pile = fc.record({
  pool: fc.constantFrom('default', 'slow'),
  provider: fc.constantFrom('google', 'yahoo', '?tiny.example'),
  stream: fc.constantFrom(...STREAMS),
  teamId: fc.constantFrom('ada', 'bob', 'carl', 'dora', 'eve'),
  count: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 20 }) },
    fc.integer({ min: 150, max: 300 }),
  ),
})

const mixture = fc.record({
  piles: fc.array(pile, { minLength: 1, maxLength: 12 }),
  limit: fc.integer({ min: 1, max: 60 }),
  rooms: fc.dictionary(
    fc.constantFrom('default/google', 'default/yahoo', 'slow/google', 'default/?tiny.example'),
    fc.integer({ min: 0, max: 12 }),
  ),
  roomElse: fc.integer({ min: 1, max: 30 }),
  /** Number of recipients of one email. */
  together: fc.constantFrom(1, 1, 3, 40),
  /** Maximum recipients of one message. */
  recipients: fc.constantFrom(1, 2, 100),
})

function waitingOf({ piles, together }: { piles: (QueueNameParts & { count: number })[]; together: number }) {
  return piles.flatMap(({ count, ...queue }, p) =>
    Array.from({ length: count }, (_, i): Waiting => {
      const of = Math.floor(i / together)
      return { queue, dueAt: T0 - 1000 + ((of * 37 + p * 11) % 900), email: `p${p}e${of}` }
    }),
  )
}

const queueOf = ({ pool, provider, stream, teamId }: LeasedDelivery): string =>
  [pool, provider, stream, teamId].join(' ')

const countBy = <T>(values: readonly T[], key: (value: T) => string): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(key(value), (counts.get(key(value)) ?? 0) + 1)
  return counts
}

/** Leases until nothing is left, and releases nothing. */
function drain({
  piles,
  limit,
  rooms,
  roomElse,
  together,
  recipients,
}: typeof mixture extends fc.Arbitrary<infer M> ? M : never) {
  const db = openMemory()
  const waiting = waitingOf({ piles, together })
  fill(db, waiting)
  const lease = createLeaseFunction(db)
  const rounds: LeasedDelivery[][] = []
  for (;;) {
    const leased = lease(
      leaseArgs({ limit, room: rooms, roomElse, recipients, retryDelays: [1e9], leaseUntil: T0 + 1e9 }),
      T0,
    )
    if (leased.length === 0) break
    rounds.push(leased)
  }
  db.close()
  return { rounds, waiting }
}

describe('leasing a random mix of deliveries', () => {
  test('leasing respects limits, leases nothing twice, and drains everything if there is capacity', () => {
    fc.assert(
      fc.property(mixture, (mix) => {
        const { rounds, waiting } = drain(mix)
        for (const leased of rounds) {
          // Counted as the dispatcher sends them.
          const messages = splitIntoBatches(leased, mix.recipients)
          expect(messages.length).toBeLessThanOrEqual(mix.limit)
          for (const [destination, count] of countBy(messages, ([first]) => formatDestination(first!)))
            expect(count).toBeLessThanOrEqual(mix.rooms[destination] ?? mix.roomElse)
        }
        const ids = rounds.flat().map(({ id }) => id)
        expect(new Set(ids).size).toBe(ids.length)
        const open = waiting.filter(({ queue }) => mix.rooms[formatDestination(queue)] !== 0)
        expect(ids).toHaveLength(open.length)
      }),
      { numRuns: 60 },
    )
  })

  test('broadcasts get one slot in ten while transactional mail also waits, and teams share slots evenly', () => {
    fc.assert(
      fc.property(mixture, (mix) => {
        const { rounds } = drain({ ...mix, together: 1 })
        for (const places of Map.groupBy(rounds.flat(), formatDestination).values()) checkTurns(places)
      }),
      { numRuns: 60 },
    )
  })
})

/** Checks the turns within one destination, position by position. */
function checkTurns(places: LeasedDelivery[]): void {
  const left = countBy(places, queueOf)
  const leftOf = (stream: string) => countBy(places, (one) => one.stream).get(stream) ?? 0
  const waiting = { transactional: leftOf('transactional'), broadcast: leftOf('broadcast') }
  const got = new Map<string, number>([...left.keys()].map((queue) => [queue, 0]))
  let row = 0
  for (const place of places) {
    if (waiting.transactional > 0 && waiting.broadcast > 0) {
      expect(place.stream, `place ${row} beside both`).toBe(row === 9 ? 'broadcast' : 'transactional')
      row = row === 9 ? 0 : row + 1
    }
    const queue = queueOf(place)
    const others = [...left].filter(([name, count]) => count > 0 && name.includes(` ${place.stream} `))
    const least = Math.min(...others.map(([name]) => got.get(name)!))
    expect(got.get(queue)! - least).toBeLessThanOrEqual(1)
    got.set(queue, got.get(queue)! + 1)
    left.set(queue, left.get(queue)! - 1)
    waiting[place.stream] -= 1
  }
}

describe('fairness between teams and streams', () => {
  const google = (teamId: string, stream: QueueNameParts['stream'] = 'transactional'): QueueNameParts => ({
    pool: 'default',
    provider: 'google',
    stream,
    teamId,
  })
  const lots = (count: number, queue: QueueNameParts, dueAt = T0 - 1000): Waiting[] =>
    Array.from({ length: count }, (_, i) => ({ queue, dueAt: dueAt + (i % 900) }))

  test('a new team does not wait behind 10,000 emails of another team', () => {
    const db = openMemory()
    fill(db, [...lots(10_000, google('early')), ...lots(5, google('late'), T0 - 1)])
    const leased = createLeaseFunction(db)(leaseArgs({ limit: 10, roomElse: 10 }), T0 + 900)
    expect([...countBy(leased, ({ teamId }) => teamId)].sort()).toEqual([
      ['early', 5],
      ['late', 5],
    ])
  })

  test('with one slot at a time, each of 60 teams gets a turn before any gets a second one', () => {
    const db = openMemory()
    const teams = Array.from({ length: 60 }, (_, i) => `team${i}`)
    fill(
      db,
      teams.flatMap((team) => lots(10, google(team))),
    )
    const lease = createLeaseFunction(db)
    const served = teams.map(() => lease(leaseArgs({ limit: 1, roomElse: 1 }), T0)[0]!.teamId)
    expect(new Set(served).size).toBe(60)
  })

  test('a team whose emails have many recipients gets fewer turns', () => {
    const db = openMemory()
    const many = Array.from({ length: 400 }, (_, i): Waiting => {
      return { queue: google('many'), dueAt: T0 - 10, email: `many${Math.floor(i / 20)}` }
    })
    fill(db, [...many, ...lots(400, google('few'))])
    const lease = createLeaseFunction(db)
    const leased = Array.from({ length: 20 }, () => lease(leaseArgs({ limit: 10, roomElse: 10 }), T0)).flat()
    const { few, many: got } = Object.fromEntries(countBy(leased, ({ teamId }) => teamId))
    expect(Math.abs(few! - got!)).toBeLessThanOrEqual(20)
  })

  test('a large broadcast does not delay transactional mail, and is not stopped by it', () => {
    const db = openMemory()
    const towards = (i: number, stream: QueueNameParts['stream'], teamId: string): QueueNameParts => {
      return { pool: 'default', provider: `?d${i}.example`, stream, teamId }
    }
    fill(db, [
      ...Array.from({ length: 5000 }, (_, i) => ({
        queue: towards(i, 'broadcast', 'loud'),
        dueAt: T0 - 500,
      })),
      ...Array.from({ length: 500 }, (_, i) => ({
        queue: towards(6000 + i, 'transactional', 'calm'),
        dueAt: T0,
      })),
    ])
    const lease = createLeaseFunction(db)
    const leased = Array.from({ length: 50 }, () => lease(leaseArgs({ limit: 2, roomElse: 5 }), T0)).flat()
    expect([...countBy(leased, ({ stream }) => stream)].sort()).toEqual([
      ['broadcast', 10],
      ['transactional', 90],
    ])
  })

  test('leases the oldest delivery of a team first', () => {
    const db = openMemory()
    const dues = [5, 3, 9, 1, 7]
    fill(
      db,
      dues.map((due) => ({ queue: google('ada'), dueAt: T0 + due, email: `due${due}` })),
    )
    const leased = createLeaseFunction(db)(leaseArgs(), T0 + 10)
    expect(leased.map(({ emailId }) => emailId)).toEqual(['due1', 'due3', 'due5', 'due7', 'due9'])
  })

  test('recipients of an email are leased together per domain, not per provider', () => {
    const db = openMemory()
    const one = (domain: string, email: string, dueAt: number) => ({
      queue: google('ada'),
      dueAt,
      domain,
      email,
    })
    fill(db, [
      one('x.example', 'a', 1),
      one('x.example', 'b', 2),
      one('y.example', 'a', 3),
      one('x.example', 'a', 4),
    ])
    const leased = createLeaseFunction(db)(leaseArgs({ roomElse: 2 }), T0)
    expect(leased.map(({ emailId, domain }) => [emailId, domain])).toEqual([
      ['a', 'x.example'],
      ['a', 'x.example'],
      ['b', 'x.example'],
    ])
  })

  test('forty recipients of one email in one domain count as one message and one slot', () => {
    const db = openMemory()
    const together = Array.from({ length: 40 }, () => ({ queue: google('ada'), dueAt: 1, email: 'a' }))
    fill(db, [...together, ...lots(2, google('bob'), 2)])
    const leased = createLeaseFunction(db)(leaseArgs({ limit: 2, roomElse: 2 }), T0)
    expect(splitIntoBatches(leased).map((batch) => [batch[0]!.teamId, batch.length])).toEqual([
      ['ada', 40],
      ['bob', 1],
    ])
  })

  test('recipients over the per-message limit are split into full messages', () => {
    const db = openMemory()
    fill(
      db,
      Array.from({ length: 250 }, () => ({ queue: google('ada'), dueAt: 1, email: 'a' })),
    )
    const lease = createLeaseFunction(db)
    expect(lease(leaseArgs({ roomElse: 2 }), T0)).toHaveLength(200)
    expect(lease(leaseArgs({ roomElse: 2 }), T0)).toHaveLength(50)
  })

  test('one lease includes at most 2000 deliveries, and the next lease includes the rest', () => {
    const db = openMemory()
    fill(
      db,
      Array.from({ length: 5000 }, (_, i) => ({
        queue: google('ada'),
        dueAt: 1,
        email: `e${Math.floor(i / 100)}`,
      })),
    )
    const lease = createLeaseFunction(db)
    const taken = Array.from({ length: 4 }, () => lease(leaseArgs(), T0).length)
    expect(taken).toEqual([2000, 2000, 1000, 0])
  })
})
