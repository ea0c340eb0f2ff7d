import * as fc from '../world/fast-check.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { breakDownInChunks } from '../../appliance/events/metrics-pieces.ts'
import { catchUpTagCounts } from '../../appliance/events/metrics-tags.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { BreakdownQuery, Storage, Tag } from '../../appliance/storage/storage.ts'
import { MAX_TAGS_PER_DAY } from '../../appliance/storage/metrics/tag-counts.ts'
import { change, DAY, leaseArgs, makeTeam, MINUTE, putEmail, T0 } from './fixtures.ts'

const QUARTER = 15 * MINUTE

/** Tests of metrics by tag: each event counts once, and a rebuild gives the same numbers. */
export function metricsTagsContract(use: () => Storage): void {
  let storage: Storage
  let teamId: string
  const domains = [newId(T0), newId(T0)] as const
  beforeEach(async () => {
    storage = use()
    teamId = (await makeTeam(storage)).team.id
    await countAll()
  })

  const countAll = async (): Promise<void> => {
    while ((await catchUpTagCounts(storage, T0)) !== null);
  }
  const tagged = (...tags: string[]): Tag[] =>
    tags.map((tag) => {
      const [name = '', value = ''] = tag.split(':')
      return { name, value }
    })
  /** Stores an email that fails at once, which increments a counter per recipient. */
  const fail = async (tags: Tag[], at = T0, { domain = 0, to = ['a@x.test'] } = {}): Promise<string> => {
    const { id } = await putEmail(storage, teamId, to, at, { tags, domainId: domains[domain]! })
    await storage.dropQueue({ emailId: id }, at)
    return id
  }
  const deliver = async (now: number): Promise<void> => {
    const leased = await storage.lease(leaseArgs({ leaseUntil: now + MINUTE }), now)
    const changes = leased.map(({ id }) => {
      const delivered = change(id, 'delivered', 'email.delivered')
      return { ...delivered, event: { ...delivered.event!, id: newId(now) } }
    })
    await storage.settle({ owner: 'one', attempt: null, changes }, now)
  }
  /** Removes all emails past retention. */
  const purge = async (): Promise<void> => {
    const before = T0 + 1000 * DAY
    let after: string | undefined
    do {
      const { next } = await storage.purgeEmails({ before, most: 1000, after }, before)
      after = next ?? undefined
    } while (after !== undefined)
  }
  const ask = (more: Partial<BreakdownQuery> = {}): BreakdownQuery => ({
    teamId,
    by: 'tag',
    range: { start: T0, end: T0 + DAY },
    counters: ['failed'],
    most: 50,
    ...more,
  })
  const told = async (more: Partial<BreakdownQuery> = {}): Promise<[string | null, string, number][]> => {
    await countAll()
    const rows = await breakDownInChunks(storage, ask(more), T0)
    return rows
      .map(({ value, counter, n }): [string | null, string, number] => [value, counter, n])
      .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
  }

  describe('counting by tag', () => {
    test('counts an email once for each of its distinct tags, and not if it has none', async () => {
      await fail(tagged('kind:receipt', 'shop:one', 'kind:receipt', 'test:'))
      await fail(tagged('kind:receipt'), T0, { to: ['a@x.test', 'b@x.test'] })
      await fail([])
      expect(await told()).toEqual([
        ['kind:receipt', 'failed', 3],
        ['shop:one', 'failed', 1],
        ['test:', 'failed', 1],
      ])
    })

    test('counts each delivery event once, however often the counts are read', async () => {
      await putEmail(storage, teamId, ['a@x.test', 'b@y.test'], T0, { tags: tagged('kind:a') })
      await deliver(T0)
      const counters = ['sent', 'delivered']
      const both = [
        ['kind:a', 'delivered', 2],
        ['kind:a', 'sent', 2],
      ]
      expect(await told({ counters })).toEqual(both)
      expect(await told({ counters })).toEqual(both)
    })

    test('returns no counts by tag to other teams', async () => {
      await fail(tagged('kind:receipt'))
      const other = (await makeTeam(storage)).team.id
      expect(await told({ teamId: other })).toEqual([])
    })

    test('filters counts by tag by domain, provider and time', async () => {
      await fail(tagged('kind:a'), T0, { to: ['a@x.test'] })
      await fail(tagged('kind:b'), T0 + QUARTER, { domain: 1, to: ['a@x.test'] })
      await fail(tagged('kind:c'), T0 + QUARTER, { domain: 1, to: ['a@y.test'] })
      const days = { start: T0, end: T0 + DAY }
      const part = { start: T0 + QUARTER, end: T0 + 2 * QUARTER }
      for (const range of [days, part]) {
        expect((await told({ range, domainIds: [domains[1]] })).map(([tag]) => tag)).toEqual([
          'kind:b',
          'kind:c',
        ])
        expect((await told({ range, providers: ['?y.test'] })).map(([tag]) => tag)).toEqual(['kind:c'])
        const one = { range, providers: ['?x.test'], domainIds: [domains[1]] }
        expect((await told(one)).map(([tag]) => tag)).toEqual(['kind:b'])
      }
      expect((await told({ range: part })).map(([tag]) => tag)).toEqual(['kind:b', 'kind:c'])
    })

    test('returns the largest tags separately, and sums the others', async () => {
      for (const tags of [tagged('a:1'), tagged('a:1'), tagged('a:2'), tagged('a:3')]) await fail(tags)
      expect(await told({ most: 1 })).toEqual([
        ['a:1', 'failed', 2],
        [null, 'failed', 2],
      ])
    })

    test('limits the values of a tag name in a day, without affecting other names', async () => {
      const { values } = MAX_TAGS_PER_DAY
      for (let n = 0; n < values + 3; n++) await fail(tagged(`user:${n}`))
      await fail(tagged('kind:receipt', 'user:0'))
      const most = 2 * values
      const rows = await told({ most })
      expect(rows).toHaveLength(values + 2)
      expect(rows).toEqual(
        expect.arrayContaining([
          ['kind:receipt', 'failed', 1],
          ['user:0', 'failed', 2],
          [null, 'failed', 3],
        ]),
      )
      // The limit starts over the next day.
      await fail(tagged(`user:${values + 2}`), T0 + DAY)
      const range = { start: T0 + DAY, end: T0 + 2 * DAY }
      expect(await told({ range, most })).toEqual([[`user:${values + 2}`, 'failed', 1]])
    })

    test('limits the tag names in a day', async () => {
      const { names } = MAX_TAGS_PER_DAY
      await fail(Array.from({ length: names + 2 }, (_, n) => ({ name: `n${n}`, value: 'x' })))
      const rows = await told()
      expect(rows).toHaveLength(names + 1)
      expect(rows).toContainEqual([null, 'failed', 2])
    })

    test('only one of two concurrent counts of the same events succeeds', async () => {
      await fail(tagged('kind:receipt'))
      const { since, more, ...stretch } = await storage.readTagCounts({}, T0)
      expect([since, more]).toEqual([T0, false])
      expect(await storage.addTagCounts(stretch, T0)).toBe(true)
      expect(await storage.addTagCounts(stretch, T0)).toBe(false)
      expect(await storage.readTagCounts({}, T0)).toMatchObject({ since: null, more: false, counts: [] })
      expect(await told()).toEqual([['kind:receipt', 'failed', 1]])
    })

    test('counts many events in several steps, and returns the time from which counts are missing', async () => {
      const many = Array.from({ length: 50 }, (_, n) => ({ name: `name-${n}`, value: 'x' }))
      for (let n = 0; n < 25; n++) await fail(many, T0 + n)
      const first = await storage.readTagCounts({}, T0)
      expect(first.more).toBe(true)
      const { since: _, more: __, ...stretch } = first
      await storage.addTagCounts(stretch, T0)
      expect(await storage.readTagCounts({}, T0)).toMatchObject({
        from: first.to,
        since: T0 + 10,
        more: true,
      })
      expect((await told()).find(([tag]) => tag === 'name-0:x')).toEqual(['name-0:x', 'failed', 25])
    })

    test('keeps a tagged email until its events are counted', async () => {
      const id = await fail(tagged('kind:receipt'))
      const plain = await fail([])
      const left = async () => {
        await purge()
        const found = await Promise.all([id, plain].map((one) => storage.getEmail({ teamId, id: one }, T0)))
        return found.map((email) => email !== undefined)
      }
      expect(await left()).toEqual([true, false])
      await countAll()
      expect(await left()).toEqual([false, false])
      expect(await told()).toEqual([['kind:receipt', 'failed', 1]])
    })
  })

  describe('recomputing counts by tag', () => {
    const recompute = (start = T0, end = T0 + DAY) => storage.recomputeMetrics({ teamId, start, end }, T0)

    test('recomputing ignores events that were not counted yet', async () => {
      await fail(tagged('kind:receipt'))
      expect(await recompute()).toEqual({ changed: 0, left: 0 })
      expect(await told()).toEqual([['kind:receipt', 'failed', 1]])
    })

    test('recomputing keeps the counts of events that were purged', async () => {
      await fail(tagged('kind:gone'))
      await countAll()
      await purge()
      await fail(tagged('kind:here'), T0 + QUARTER)
      await countAll()
      expect(await recompute()).toEqual({ changed: 0, left: 1 })
      expect(await told()).toEqual([
        ['kind:gone', 'failed', 1],
        ['kind:here', 'failed', 1],
      ])
    })

    test('recomputed counts match the events, and daily sums match quarter hours, for any sequence of events', async () => {
      const email = fc.record({
        at: fc.integer({ min: 0, max: 3 * 96 - 1 }).map((n) => T0 + n * QUARTER),
        tags: fc.array(fc.constantFrom('a:1', 'a:2', 'b:1', 'c:'), { maxLength: 3 }),
        domain: fc.nat({ max: 1 }),
        to: fc.array(fc.constantFrom('a@x.test', 'b@x.test', 'a@y.test'), { minLength: 1, maxLength: 2 }),
        count: fc.boolean(),
      })
      const asked = fc.record({
        from: fc.nat({ max: 3 * 96 }),
        quarters: fc.integer({ min: 1, max: 3 * 96 }),
        domainIds: fc.constantFrom(undefined, [domains[0]], [...domains]),
        providers: fc.constantFrom(undefined, ['?x.test']),
        most: fc.integer({ min: 1, max: 4 }),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.array(email, { minLength: 1, maxLength: 6 }),
          fc.array(asked, { minLength: 4, maxLength: 4 }),
          async (emails, questions) => {
            teamId = (await makeTeam(storage)).team.id
            for (const { at, tags, count, ...more } of emails) {
              await fail(tagged(...tags), at, more)
              if (count) await countAll()
            }
            await countAll()
            expect(await recompute(T0, T0 + 3 * DAY)).toEqual({ changed: 0, left: 0 })
            for (const { from, quarters, most, ...only } of questions) {
              const range = { start: T0 + from * QUARTER, end: T0 + (from + quarters) * QUARTER }
              const query = ask({
                range,
                most,
                domainIds: only.domainIds && [...only.domainIds],
                providers: only.providers && [...only.providers],
              })
              const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()
              const plain = await storage.breakDownMetrics(query, T0)
              expect(sorted(await breakDownInChunks(storage, query, T0))).toEqual(sorted(plain))
            }
          },
        ),
        { numRuns: 6 },
      )
    })
  })
}
