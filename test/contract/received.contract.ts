import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { ReturnedMailReport } from '../../appliance/mail/returned.ts'
import type { NewEmail, Storage } from '../../appliance/storage/storage.ts'
import { change, DAY, leaseArgs, makeTeam, newDomain, putEmail, T0, unique } from './fixtures.ts'

const LIMITS = { emailMessages: 3, emailBytes: 5000, teamBytes: 20_000, allBytes: 1_000_000 }
const MAILBOX = { messages: 3, bytes: 1_000_000 }

const message = (text: string, now = T0) => ({
  id: newId(now),
  receivedAt: now,
  mailFrom: '',
  rcptTo: 'bounce+1@send.shop.example',
  ip: '192.0.2.1',
  helo: 'mx.x.example',
  tls: 'TLSv1.3',
  size: text.length,
  bytes: new Uint8Array(Buffer.from(text)),
})

export function receivedContract(storage: () => Storage): void {
  const keep = async (emailId: string, text: string, limits = LIMITS) => {
    const one = message(text)
    return { id: one.id, answer: await storage().keepReturned({ emailId, message: one, limits }, T0) }
  }
  const listed = async (teamId: string, emailId: string) =>
    (await storage().listReturned({ teamId, emailId }, T0)).map(({ id }) => id)

  test('finds a return path by its email', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example'])
    expect(await storage().findReturnPath({ emailId: email.id }, T0)).toEqual({
      teamId: team.id,
      returnPath: email.returnPath,
    })
    expect(await storage().findReturnPath({ emailId: newId(T0) }, T0)).toBe(undefined)
  })

  test('finds a domain by its own name and by its return path', async () => {
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, `${unique('served')}.example`)
    await storage().createDomain({ domain: { ...domain, status: 'verified' }, keys }, T0)
    const statuses = (name: string) => storage().domainsServedAs({ name }, T0)
    expect(await statuses(domain.name)).toEqual(['verified'])
    expect(await statuses(`send.${domain.name}`)).toEqual(['verified'])
    expect(await statuses(`www.${domain.name}`)).toEqual([])
    expect(await statuses('example')).toEqual([])
  })

  test('stores returned messages byte for byte, for their own team', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example'])
    const first = await keep(email.id, 'From: a\r\n\r\n\xff')
    const second = await keep(email.id, 'second')
    expect([first.answer, second.answer]).toEqual(['kept', 'kept'])
    expect(await storage().listReturned({ teamId: team.id, emailId: email.id }, T0)).toEqual([
      {
        id: second.id,
        receivedAt: T0,
        mailFrom: '',
        rcptTo: 'bounce+1@send.shop.example',
        ip: '192.0.2.1',
        helo: 'mx.x.example',
        tls: 'TLSv1.3',
        size: 6,
        hasContent: true,
        report: null,
      },
      expect.objectContaining({ id: first.id }),
    ])
    const read = (teamId: string) => storage().getReturned({ teamId, emailId: email.id, id: first.id }, T0)
    expect(Buffer.from((await read(team.id))!)).toEqual(Buffer.from('From: a\r\n\r\n\xff'))
    expect(await read(other.team.id)).toBe(undefined)
    expect(await listed(other.team.id, email.id)).toEqual([])
  })

  test('limits the messages and bytes returned for an email', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example'])
    expect((await keep(email.id, 'x'.repeat(4000))).answer).toBe('kept')
    expect((await keep(email.id, 'x'.repeat(1001))).answer).toBe('full')
    expect((await keep(email.id, '')).answer).toBe('kept')
    expect((await keep(email.id, '')).answer).toBe('kept')
    expect((await keep(email.id, '')).answer).toBe('full')
    expect((await keep(newId(T0), '')).answer).toBe('unknown')
    expect(await listed(team.id, email.id)).toHaveLength(3)
  })

  test('removes the oldest messages of a team over its limit, and of the largest team over the total limit', async () => {
    await storage().purgeReceived({ before: T0 + 36_500 * DAY, most: 1000 }, T0)
    const [small, large] = [await makeTeam(storage()), await makeTeam(storage())]
    const little = await putEmail(storage(), small.team.id, ['a@x.example'])
    const kept = await keep(little.id, 'x'.repeat(1000))
    const emails: NewEmail[] = []
    for (let count = 0; count < 7; count++)
      emails.push(await putEmail(storage(), large.team.id, ['a@x.example']))
    const ids: string[] = []
    for (const { id } of emails) ids.push((await keep(id, 'x'.repeat(2976))).id)
    // Five messages of 4000 bytes fit into 20,000; the two oldest are removed.
    const left = async () => (await Promise.all(emails.map(({ id }) => listed(large.team.id, id)))).flat()
    expect(await left()).toEqual(ids.slice(2))
    const more = await keep(emails[0]!.id, 'x'.repeat(2976), {
      ...LIMITS,
      teamBytes: 100_000,
      allBytes: 18_024,
    })
    expect(await left()).toEqual([more.id, ...ids.slice(4)])
    expect(await listed(small.team.id, little.id)).toEqual([kept.id])
  })

  test('a report about a delivery is returned for reading until it is settled, which works once', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, [`${unique('dead')}@x.example`])
    const deliveryId = email.deliveries[0]!.id
    await storage().lease(leaseArgs(), T0)
    const changes = [change(deliveryId, 'delivered', 'email.delivered')]
    await storage().settle({ owner: 'one', attempt: null, changes }, T0)
    const one = message('a report')
    await storage().keepReturned({ emailId: email.id, message: one, limits: LIMITS, proven: true }, T0)
    // Starts again after a crash.
    expect(await storage().beginReturned({}, T0)).toMatchObject({ id: one.id, attempts: 1 })
    expect(await storage().beginReturned({}, T0)).toMatchObject({
      id: one.id,
      attempts: 2,
      emailId: email.id,
      returnPath: email.returnPath,
      deliveries: [{ id: deliveryId, state: 'delivered', leased: false, complained: false }],
    })
    const cause = { phase: 'report', host: null, ip: null, reply: null, note: 'Reported.' } as const
    const { recipient } = email.deliveries[0]!
    const bounce = {
      type: 'Permanent' as const,
      subType: 'General' as const,
      message: 'Reported.',
      diagnosticCode: [],
      suppress: true as const,
    }
    const about = {
      recipient,
      deliveryId,
      action: 'failed',
      status: null,
      diagnostic: null,
      category: null,
    } as const
    const report = { kind: 'bounce', format: 'rfc3464', reportingMta: null } as const
    const settled = {
      id: one.id,
      report: { ...report, entries: [{ ...about, effect: 'suppressed' as const }] },
      bounces: [{ deliveryId, cause, data: { recipient, cause, bounce } }],
      complaints: [],
    }
    expect(await storage().settleReturned(settled, T0)).toBe(true)
    expect(await storage().settleReturned(settled, T0)).toBe(false)
    expect(await storage().beginReturned({}, T0)).toBe(undefined)
    const history = await storage().getHistory({ teamId: team.id, id: email.id }, T0)
    expect(history.deliveries).toMatchObject([{ state: 'bounced', cause }])
    expect(history.events.map(({ type }) => type)).toEqual(['email.sent', 'email.delivered', 'email.bounced'])
    const [listedOne] = await storage().listReturned({ teamId: team.id, emailId: email.id }, T0)
    expect(listedOne!.report).toEqual(settled.report)
    const { items } = await storage().listSuppressions({ teamId: team.id, limit: 10 }, T0)
    expect(items).toMatchObject([{ email: recipient, origin: 'bounce', sourceId: email.id }])
    // Another report about the same delivery.
    const again = message('again')
    await storage().keepReturned({ emailId: email.id, message: again, limits: LIMITS, proven: true }, T0)
    expect(await storage().settleReturned({ ...settled, id: again.id }, T0)).toBe(true)
    const reports = await storage().listReturned({ teamId: team.id, emailId: email.id }, T0)
    expect(reports[0]!.report!.entries).toMatchObject([{ effect: 'unchanged' }])
  })

  test('a postponed message is returned again later, without counting the attempt', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example'])
    expect(await storage().nextReturned({}, T0)).toBe(undefined)
    const one = message('a report')
    await storage().keepReturned({ emailId: email.id, message: one, limits: LIMITS, proven: true }, T0)
    expect(await storage().nextReturned({}, T0)).toBe(T0)
    expect(await storage().beginReturned({}, T0)).toMatchObject({ id: one.id, attempts: 1 })
    const dueAt = T0 + 5000
    await storage().postponeReturned({ id: one.id, dueAt }, T0)
    expect(await storage().nextReturned({}, T0)).toBe(dueAt)
    expect(await storage().beginReturned({}, dueAt - 1)).toBe(undefined)
    expect(await storage().beginReturned({}, dueAt)).toMatchObject({ id: one.id, attempts: 1 })
    const report = {
      kind: 'unreadable',
      format: 'none',
      reportingMta: null,
      entries: [] as ReturnedMailReport['entries'],
    } as const
    await storage().settleReturned({ id: one.id, report, bounces: [], complaints: [] }, dueAt)
    expect(await storage().nextReturned({}, dueAt)).toBe(undefined)
  })

  test('stores no content of returned messages if the email’s content is not stored', async () => {
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, `${unique('d')}.example`)
    await storage().createDomain({ domain, keys }, T0)
    await storage().setKeepBodies({ teamId: team.id, domainId: domain.id, keep: false }, T0)
    const email = await putEmail(storage(), team.id, ['a@x.example'], T0, { domainId: domain.id })
    const { id } = await keep(email.id, 'it quotes the email')
    expect(await storage().listReturned({ teamId: team.id, emailId: email.id }, T0)).toMatchObject([
      { id, hasContent: false, size: 19 },
    ])
    expect(await storage().getReturned({ teamId: team.id, emailId: email.id, id }, T0)).toBe(undefined)
  })

  test('the postmaster mailbox drops its oldest messages and tracks forwarding', async () => {
    const add = async (forward: 'off' | 'due', text = 'hello') => {
      const one = message(text)
      await storage().keepPostmaster({ message: one, forward, limits: MAILBOX }, T0)
      return one.id
    }
    const dropped = await add('due')
    const [first, second, third] = [await add('due'), await add('due'), await add('off', 'third')]
    expect(await storage().getPostmaster({ id: dropped }, T0)).toBe(undefined)
    expect(Buffer.from((await storage().getPostmaster({ id: third }, T0))!).toString()).toBe('third')

    const due = async () => (await storage().duePostmaster({}, T0))?.id
    expect(await due()).toBe(first)
    const emailId = newId(T0)
    await storage().settlePostmaster({ id: first, forwarding: { state: 'done', emailId } }, T0)
    expect(await due()).toBe(second)
    await storage().settlePostmaster({ id: second, forwarding: { state: 'skipped', reason: 'a loop' } }, T0)
    expect(await due()).toBe(undefined)
    const page = await storage().listPostmaster({ limit: 2 }, T0)
    expect(page).toMatchObject({
      items: [
        { id: third, forwarding: { state: 'off' } },
        { id: second, forwarding: { state: 'skipped', reason: 'a loop' } },
      ],
      hasMore: true,
    })
    expect((await storage().listPostmaster({ limit: 2, after: second }, T0)).items).toMatchObject([
      { id: first, forwarding: { state: 'done', emailId } },
    ])
  })

  test('removes old returned messages', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example'])
    const { id } = await keep(email.id, 'old')
    const purge = (before: number) => storage().purgeReceived({ before, most: 100 }, T0)
    expect(await purge(T0 - DAY)).toBe(0)
    expect(await listed(team.id, email.id)).toEqual([id])
    expect(await purge(T0 + 36_500 * DAY)).toBeGreaterThanOrEqual(1)
    expect(await listed(team.id, email.id)).toEqual([])
  })
}
