import { expect, test } from 'vitest'
import { createSentEmailChecker } from '../../appliance/insights/insights.ts'
import { createInsight } from '../../appliance/mail/insight.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { createTestClock } from '../world/clock.ts'
import { change, DAY, leaseArgs, makeTeam, newDomain, putEmail, T0, unique } from './fixtures.ts'

const WORDS = { note: 'n', why: 'w', fix: 'f', well: 'fine' }

/** Tests the counts of failed checks by domain and day, and the worker that makes them. */
export function insightDaysContract(use: () => Storage): void {
  async function makeDomain() {
    const { team } = await makeTeam(use())
    const { domain, keys } = newDomain(team.id, `${unique('checked')}.example`)
    await use().createDomain({ domain: { ...domain, status: 'verified' }, keys }, T0)
    return { teamId: team.id, domainId: domain.id }
  }

  /** Stores sent emails of a domain. */
  async function send(
    { teamId, domainId }: { teamId: string; domainId: string },
    subjects: string[],
    more: { via?: 'rest' | 'notice'; now?: number } = {},
  ): Promise<void> {
    const { via = 'rest', now = T0 } = more
    for (const subject of subjects)
      await putEmail(use(), teamId, [`${newId(T0)}@people.test`], now, { domainId, subject, via })
    const leased = await use().lease(leaseArgs({ leaseUntil: now + DAY }), now)
    const changes = leased.map(({ id }) => change(id, 'delivered', 'email.delivered'))
    await use().settle({ owner: 'one', attempt: null, changes }, now)
  }

  /** Runs the worker until all events are read. A subject with "bad" fails the check `subject`. */
  async function run(html: string | null = 'x'): Promise<string[]> {
    const seen: string[] = []
    const counter = createSentEmailChecker({
      storage: use(),
      clock: createTestClock(),
      log: createSilentLogger(),
      contentOf: () => Promise.resolve({ html, text: null }),
      advise({ subject }) {
        seen.push(subject)
        return [createInsight('subject', subject.includes('bad') ? 'attention' : null, WORDS)]
      },
    })
    counter.start()
    await expect.poll(async () => (await use().readUnchecked({}, T0)).emails.length).toBe(0)
    await counter.stop()
    return seen
  }
  const daysOf = ({ teamId, domainId }: { teamId: string; domainId: string }, since = '2026-01-01') =>
    use().listInsightDays({ teamId, domainId, since }, T0)

  test('checks each sent email once, and counts it by domain and day sent', async () => {
    const [one, other] = [await makeDomain(), await makeDomain()]
    await send(one, ['good', 'bad 1', 'bad 2'])
    await send(other, ['good'])
    expect((await run()).toSorted()).toEqual(['bad 1', 'bad 2', 'good', 'good'])
    expect(await run()).toEqual([])
    await send(one, ['bad 3'], { now: T0 + DAY })
    await run()
    expect(await daysOf(one)).toEqual([
      { day: '2026-01-01', check: '', n: 3 },
      { day: '2026-01-01', check: 'subject', n: 2 },
      { day: '2026-01-02', check: '', n: 1 },
      { day: '2026-01-02', check: 'subject', n: 1 },
    ])
    expect(await daysOf(one, '2026-01-02')).toHaveLength(2)
    expect(await daysOf(other)).toEqual([{ day: '2026-01-01', check: '', n: 1 }])
    expect(await daysOf({ teamId: other.teamId, domainId: one.domainId })).toEqual([])
    await use().purgeInsightDays({ before: '2026-01-02' }, T0)
    expect(await daysOf(one)).toHaveLength(2)
  })

  test('counts neither the server’s own mail nor mail without content', async () => {
    const domain = await makeDomain()
    await send(domain, ['bad'], { via: 'notice' })
    expect(await run()).toEqual([])
    await send(domain, ['bad'])
    expect(await run(null)).toEqual([])
    expect(await daysOf(domain)).toEqual([])
  })

  test('when two readers read the same events, only one adds its counts', async () => {
    const domain = await makeDomain()
    await send(domain, ['good'])
    const { from, to, emails } = await use().readUnchecked({}, T0)
    expect(emails).toMatchObject([domain])
    const counts = [{ ...domain, day: '2026-01-01', check: '', n: 1 }]
    expect(await use().addInsightDays({ from, to, counts }, T0)).toBe(true)
    expect(await use().addInsightDays({ from, to, counts }, T0)).toBe(false)
    expect(await daysOf(domain)).toEqual([{ day: '2026-01-01', check: '', n: 1 }])
  })
}
