import { describe, expect } from 'vitest'
import { catchUpTagCounts } from '../../appliance/events/metrics-tags.ts'
import { newId } from '../../appliance/mail/ids.ts'
import { createErasureCounts } from '../../appliance/mail/erasure.ts'
import type { ReturnedMailReport } from '../../appliance/mail/returned.ts'
import type { NewEmail, PurgeResult, Storage } from '../../appliance/storage/storage.ts'
import {
  cause,
  DAY,
  leaseArgs,
  makeTeam,
  newAttempt,
  newDomain,
  newEmail,
  putArgs,
  putEmail,
  T0,
  unique,
} from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'
import { makeReported, newDomainReport } from './domain-reports.contract.ts'
import { makeReceiver, newReceived } from './received-emails.contract.ts'

/** Races about retention, erasure, received mail and roll-ups. */
export function racesOfHousekeeping(race: Racing): void {
  describe('retention', () => retentionRaces(race))
  describe('erasures', () => erasureRaces(race))
  describe('received mail', () => receivedRaces(race))
  describe('roll-ups', () => metricsRaces(race))
}

/** IDs never go backwards. After tests with a later clock, IDs created at T0 are later, too. */
const DUTY = { forMs: 1000, lostAfter: 600_000 }
const step = { before: T0 + 36_500 * DAY, most: 1000 }

/** Stores emails of a team that are in a final state. */
async function over(storage: Storage, count: number): Promise<{ teamId: string; emails: NewEmail[] }> {
  const { team } = await makeTeam(storage)
  const emails: NewEmail[] = []
  for (let at = 0; at < count; at++)
    emails.push(await putEmail(storage, team.id, ['a@x.example'], T0, { tags: [] }))
  await storage.dropQueue({ teamId: team.id }, T0)
  return { teamId: team.id, emails }
}

/** Lets both event readers read all existing events. */
async function readEvents(storage: Storage): Promise<void> {
  const { from, to } = await storage.readOutbox({ limit: 1 }, T0)
  expect(await storage.fanOutWebhooks({ from, to, deliveries: [] }, T0)).toBe(true)
  while ((await catchUpTagCounts(storage, T0)) !== null);
}

function retentionRaces(race: Racing): void {
  const all = (part: PurgeResult): [number, number] => [part.count, part.bytes]

  race('counts removed rows once', async ({ storage, atOnce }) => {
    const { emails } = await over(storage, 3)
    await readEvents(storage)
    const bytes = emails.reduce((sum, { message }) => sum + message.byteLength, 0)
    for (const name of ['purgeBodies', 'purgeEvents', 'purgeEmails'] as const) {
      const purge = async (at: Storage) => all(await at[name](step, T0))
      const [one, two] = await atOnce(purge, purge)
      const expected = [name, 3, name === 'purgeBodies' ? bytes : 0]
      expect([name, one[0] + two[0], one[1] + two[1]]).toEqual(expected)
    }
  })

  race('removes attempts once', async ({ storage, atOnce }) => {
    const { emails } = await over(storage, 1)
    const [email] = emails as [NewEmail]
    const ids = email.deliveries.map(({ id }) => id)
    for (let at = 0; at < 3; at++)
      await storage.settle({ owner: 'one', attempt: newAttempt(email, ids), changes: [] }, T0)
    const purge = async (at: Storage) => (await at.purgeAttempts(step, T0)).count
    const [one, two] = await atOnce(purge, purge)
    expect(one + two).toBe(3)
    await storage.purgeEmails(step, T0)
  })

  race('removes the bodies that a domain does not keep once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const { domain, keys } = newDomain(team.id, `${unique('unkept')}.example`)
    await storage.createDomain({ domain, keys }, T0)
    await storage.setKeepBodies({ teamId: team.id, domainId: domain.id, keep: false }, T0)
    for (let at = 0; at < 3; at++)
      await putEmail(storage, team.id, ['a@x.example'], T0, { domainId: domain.id, tags: [] })
    await storage.dropQueue({ teamId: team.id }, T0)
    const purge = async (at: Storage) => (await at.purgeUnkeptBodies(step, T0)).count
    const [one, two] = await atOnce(purge, purge)
    expect(one + two).toBe(3)
    await storage.purgeEmails(step, T0)
  })

  race('removes receipts and requests once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    for (const key of ['a', 'b', 'c']) {
      const email = newEmail(team.id, ['a@x.example'], T0, { tags: [] })
      const name = { teamId: team.id, scope: 'POST /emails', key }
      const receipt = { ...name, fingerprint: 'f', body: '{}', emailIds: [email.id], expiresAt: T0 + 1 }
      await storage.put(putArgs(email, { receipt }), T0)
      const answered = { method: 'POST', endpoint: '/emails', status: 200, durationMs: 1, createdAt: T0 }
      const asked = { query: null, enhanced: null, message: null, requestBody: null, responseBody: null }
      const by = { id: newId(T0), teamId: team.id, apiKeyId: newId(T0), ip: '192.0.2.1', userAgent: null }
      await storage.saveLogs({ logs: [{ ...by, ...answered, ...asked, emailIds: [email.id] }] }, T0)
    }
    const receipts = (at: Storage) => at.purgeReceipts({ limit: 100 }, T0 + 1)
    const logs = (at: Storage) => at.purgeLogs({ before: T0 + 1, most: 100 }, T0)
    for (const purge of [receipts, logs]) {
      const [one, two] = await atOnce(purge, purge)
      expect(one + two).toBe(3)
    }
    await storage.dropQueue({ teamId: team.id }, T0)
    await storage.purgeEmails(step, T0)
  })
}

const actor = { kind: 'command' as const, name: 'root', ip: null }

function erasureRaces(race: Racing): void {
  const begin = (teamId: string, address: string) => (at: Storage) =>
    at.beginErasure({ id: newId(T0), teamId, address, actor }, T0)
  const finish = (id: string) => async (at: Storage) => {
    for (;;) {
      const erasure = await at.eraseStep({ id }, T0)
      if (erasure!.finishedAt !== null) return erasure!.counts
    }
  }

  race(
    'of one address start once, and two concurrent runs count the same rows once',
    async ({ storage, atOnce }) => {
      const { team } = await makeTeam(storage)
      const address = `${unique('ada')}@x.example`
      for (let at = 0; at < 3; at++) await putEmail(storage, team.id, [address], T0, { tags: [] })
      const [one, two] = await atOnce(begin(team.id, address), begin(team.id, address))
      expect(one.id).toBe(two.id)
      const counts = await atOnce(finish(one.id), finish(one.id))
      expect(counts[0]).toEqual(counts[1])
      expect(counts[0]).toEqual({
        ...createErasureCounts(),
        emails: 3,
        deliveries: 3,
        recipients: 3,
        bodies: 3,
      })
      expect(await storage.getAudit({ id: one.id }, T0)).toMatchObject({ after: counts[0] })
      await storage.purgeEmails(step, T0)
    },
  )

  race('store no content of a message returned meanwhile', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const address = `${unique('ada')}@x.example`
    const email = await putEmail(storage, team.id, [address], T0, { tags: [] })
    const { id } = await begin(team.id, address)(storage)
    await atOnce(finish(id), (at) => at.keepReturned({ emailId: email.id, message: message(), limits }, T0))
    const kept = await storage.listReturned({ teamId: team.id, emailId: email.id }, T0)
    expect(kept.filter(({ hasContent }) => hasContent)).toEqual([])
    await storage.purgeEmails(step, T0)
  })
}

const message = () => ({
  id: newId(T0),
  receivedAt: T0,
  mailFrom: '',
  rcptTo: 'b@send.example',
  ip: '192.0.2.1',
  helo: 'mx',
  tls: null,
  size: 4,
  bytes: new Uint8Array(Buffer.from('back')),
})

const limits = { emailMessages: 1, emailBytes: 5000, teamBytes: 20_000, allBytes: 1_000_000 }

function receivedRaces(race: Racing): void {
  race('stores no more returned messages of one email than the limit', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const email = await putEmail(storage, team.id, ['a@x.example'])
    const keep = (at: Storage) => at.keepReturned({ emailId: email.id, message: message(), limits }, T0)
    expect(sorted(await atOnce(keep, keep))).toEqual(['full', 'kept'])
    expect(await storage.listReturned({ teamId: team.id, emailId: email.id }, T0)).toHaveLength(1)
  })

  race('stores no more returned messages of one team than the limit', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const emails = [
      await putEmail(storage, team.id, ['a@x.example']),
      await putEmail(storage, team.id, ['a@x.example']),
    ]
    const keep = (emailId: string) => (at: Storage) =>
      at.keepReturned({ emailId, message: message(), limits: { ...limits, teamBytes: 1500 } }, T0)
    expect(await atOnce(keep(emails[0]!.id), keep(emails[1]!.id))).toEqual(['kept', 'kept'])
    const kept = await Promise.all(
      emails.map(({ id: emailId }) => storage.listReturned({ teamId: team.id, emailId }, T0)),
    )
    expect(kept.flat()).toHaveLength(1)
  })

  race('stores no more received emails of one team than the limit', async ({ storage, atOnce }) => {
    const to = await makeReceiver(storage)
    const keep = (at: Storage) =>
      at.keepReceivedEmails({ emails: [newReceived(to)], limits: { messages: 1, bytes: 1000 } }, T0)
    expect(sorted(await atOnce(keep, keep))).toEqual(['full', 'kept'])
  })

  race('stores a report about a domain once', async ({ storage, atOnce }) => {
    const report = newDomainReport(await makeReported(storage))
    const limits = { submitter: 5, reports: 5, rows: 50 }
    const keep = (at: Storage) => at.keepDomainReport({ report: { ...report, id: newId(T0) }, limits }, T0)
    expect(sorted(await atOnce(keep, keep))).toEqual(['kept', 'known'])
  })

  race('counts every reading of a returned message, and settles it once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const email = await putEmail(storage, team.id, ['a@x.example'])
    const one = message()
    await storage.keepReturned({ emailId: email.id, message: one, limits, proven: true }, T0)
    const begin = async (at: Storage) => (await at.beginReturned({}, T0))?.attempts
    expect(sorted(await atOnce(begin, begin))).toEqual(['1', '2'])
    const report = {
      kind: 'other',
      format: 'none',
      reportingMta: null,
      entries: [] as ReturnedMailReport['entries'],
    } as const
    const settle = (at: Storage) => at.settleReturned({ id: one.id, report, bounces: [], complaints: [] }, T0)
    expect(sorted(await atOnce(settle, settle))).toEqual(['false', 'true'])
  })

  race('stores no more mail to postmaster than the limit', async ({ storage, atOnce }) => {
    const args = () => ({ message: message(), forward: 'due' as const, limits: { messages: 1, bytes: 9000 } })
    const keep = (at: Storage) => at.keepPostmaster(args(), T0)
    await atOnce(keep, keep)
    expect((await storage.listPostmaster({ limit: 9 }, T0)).items).toHaveLength(1)
  })
}

function metricsRaces(race: Racing): void {
  const failed = async (storage: Storage, teamId: string, length?: number): Promise<number> => {
    const sums = await storage.sumMetrics({ teamId, ranges: [{ start: T0, end: T0 + DAY }], length }, T0)
    return sums.reduce((sum, { counter, n }) => (counter === 'failed' ? sum + n : sum), 0)
  }

  race('count two concurrent failures', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const emails = [
      await putEmail(storage, team.id, ['a@x.example']),
      await putEmail(storage, team.id, ['b@x.example']),
    ]
    const drop =
      ({ id }: NewEmail) =>
      (at: Storage) =>
        at.dropQueue({ emailId: id }, T0)
    await atOnce(drop(emails[0]!), drop(emails[1]!))
    expect(await failed(storage, team.id)).toBe(2)
  })

  race('sum a day once, including late events', async ({ storage, atOnce }) => {
    const { teamId } = await over(storage, 2)
    const late = await putEmail(storage, teamId, ['late@x.example'])
    const sum = (at: Storage) => at.sumMetricsUp({ teamId }, T0 + DAY)
    const [summed, again] = await atOnce(sum, async (at) => {
      const [again] = await Promise.all([sum(at), at.dropQueue({ emailId: late.id }, T0)])
      return again
    })
    expect(sorted([summed, again])).toEqual(['false', 'true'])
    expect([await failed(storage, teamId), await failed(storage, teamId, DAY)]).toEqual([3, 3])
  })

  race('add counts by tag once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const email = await putEmail(storage, team.id, ['a@x.example'])
    await storage.dropQueue({ emailId: email.id }, T0)
    const { from, to, counts } = await storage.readTagCounts({}, T0)
    expect(counts).not.toEqual([])
    const add = (at: Storage) => at.addTagCounts({ from, to, counts }, T0)
    expect(sorted(await atOnce(add, add))).toEqual(['false', 'true'])
  })

  race('include events that occur during a recompute', async ({ storage, atOnce }) => {
    const { teamId } = await over(storage, 2)
    const late = await putEmail(storage, teamId, ['late@x.example'])
    expect(await storage.sumMetricsUp({ teamId }, T0 + DAY)).toBe(true)
    await atOnce(
      (at) => at.recomputeMetrics({ teamId, start: T0, end: T0 + DAY }, T0),
      (at) => at.dropQueue({ emailId: late.id }, T0),
    )
    expect([await failed(storage, teamId), await failed(storage, teamId, DAY)]).toEqual([3, 3])
  })

  race('only one node takes a duty, also when it expires', async ({ storage, atOnce }) => {
    const name = unique('duty')
    const take = (owner: string, now: number) => (at: Storage) => at.takeDuty({ name, owner, ...DUTY }, now)
    expect(sorted(await atOnce(take('here/1', T0), take('there/1', T0)))).toEqual(['1', 'null'])
    const later = T0 + 1000
    expect(sorted(await atOnce(take('a/1', later), take('b/1', later)))).toEqual(['2', 'null'])
    const [, , back] = await Promise.all([
      storage.releaseDuties({ owner: 'a/1' }, later),
      storage.releaseDuties({ owner: 'b/1' }, later),
      storage.takeDuty({ name, owner: 'c/1', ...DUTY }, later),
    ])
    expect(back).toBe(3)
  })

  race(
    'frees the leases of a lost node once, and keeps a node active or stopped',
    async ({ storage, atOnce }) => {
      const id = unique('node')
      const lost = { lostAfter: 0, cause: cause('interrupted'), firstDueAt: T0 }
      await storage.joinNode({ id, run: '1', name: id, facts: '{}' }, T0)
      const { team } = await makeTeam(storage)
      await putEmail(storage, team.id, ['a@x.example'])
      await storage.lease(leaseArgs({ owner: `${id}/1` }), T0)
      const freed = await atOnce(
        (at) => at.freeLostNodes(lost, T0),
        (at) => at.freeLostNodes(lost, T0),
      )
      expect(freed.flat().map(({ deliveries }) => deliveries)).toEqual([1])
      await storage.dropQueue({ teamId: team.id }, T0)
      await atOnce(
        (at) => at.renewNode({ id, run: '1', state: 'active', facts: '{}', lostAfter: 60_000 }, T0),
        (at) => at.stopNode({ id, run: '1' }, T0),
      )
      const [node] = (await storage.listNodes({}, T0)).filter((one) => one.id === id)
      expect(['active', 'stopped']).toContain(node!.state)
    },
  )
}
