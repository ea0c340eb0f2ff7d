import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type {
  ForwardResult,
  ReceivedEmail,
  ReceivedFilter,
  Storage,
  MessageBytes,
} from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, newDomain, T0, unique } from './fixtures.ts'

const LIMITS = { messages: 100, bytes: 1_000_000 }
const PASS = { result: 'pass', domain: 'x.example' } as const

/** Stores a team and a domain that receives. */
export async function makeReceiver(
  storage: Storage,
): Promise<{ teamId: string; domainId: string; name: string }> {
  const { team } = await makeTeam(storage)
  const { domain, keys } = newDomain(team.id, `${unique('in')}.example`)
  await storage.createDomain({ domain: { ...domain, status: 'verified', receiving: true }, keys }, T0)
  return { teamId: team.id, domainId: domain.id, name: domain.name }
}

/** Returns a received email of a team. Not stored. */
export function newReceived(
  to: { teamId: string; domainId: string; name: string },
  change: Partial<ReceivedEmail> = {},
  now = T0,
): Omit<ReceivedEmail, 'hasContent'> & MessageBytes {
  const bytes = new Uint8Array(
    Buffer.from('From: Ada <ada@x.example>\r\nSubject: Hello\r\n\r\nhi\xff', 'latin1'),
  )
  return {
    id: newId(now),
    teamId: to.teamId,
    domainId: to.domainId,
    receivedAt: now,
    mailFrom: 'ada@x.example',
    receivedFor: [`box@${to.name}`],
    ip: '192.0.2.1',
    helo: 'mx.x.example',
    tls: null,
    size: bytes.length,
    from: 'Ada <ada@x.example>',
    to: [`box@${to.name}`],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Hello',
    messageId: '<1@x.example>',
    attachments: [],
    answers: null,
    spam: null,
    authentication: { spf: PASS, dkim: PASS, dmarc: PASS, arc: { result: 'none', domain: null } },
    ...change,
    bytes,
  }
}

export function receivedEmailsContract(storage: () => Storage): void {
  const keep = (email: ReturnType<typeof newReceived>, limits = LIMITS, now = T0) =>
    storage().keepReceivedEmails({ emails: [email], limits }, now)
  const listed = async (teamId: string, args: ReceivedFilter = {}) =>
    (await storage().listReceivedEmails({ teamId, limit: 10, ...args }, T0)).items.map(({ id }) => id)

  test('finds the receiving domain by name only if receiving is enabled', async () => {
    const { teamId, domainId, name } = await makeReceiver(storage())
    expect(await storage().findReceivers({ name }, T0)).toEqual([
      { teamId, domainId, status: 'verified', rules: [] },
    ])
    await storage().updateDomain({ teamId, id: domainId, settings: { receiving: false } }, T0)
    expect(await storage().findReceivers({ name }, T0)).toEqual([])
    expect(await keep(newReceived({ teamId, domainId, name }))).toBe('unknown')
  })

  test('a domain has its own receiving rules, which only its team can change', async () => {
    const [to, other] = [await makeReceiver(storage()), await makeReceiver(storage())]
    const { teamId, domainId, name } = to
    const rules = [{ pattern: '*', action: 'refuse' as const }]
    await storage().setReceivingRules({ teamId: other.teamId, domainId, rules }, T0)
    expect(await storage().getReceivingRules({ teamId, domainId }, T0)).toEqual([])
    await storage().setReceivingRules({ teamId, domainId, rules }, T0)
    expect(await storage().getReceivingRules({ teamId, domainId }, T0)).toEqual(rules)
    expect(await storage().getReceivingRules({ teamId: other.teamId, domainId }, T0)).toEqual([])
    expect(await storage().findReceivers({ name }, T0)).toMatchObject([{ rules }])
    expect(await storage().findReceivers({ name: other.name }, T0)).toMatchObject([{ rules: [] }])
  })

  test('stores a received email byte for byte, for its own team, with an event', async () => {
    const to = await makeReceiver(storage())
    const other = await makeReceiver(storage())
    const files = { id: newId(T0), filename: 'a.txt', contentType: 'text/plain', contentId: null, size: 3 }
    const email = newReceived(to, { attachments: [{ ...files, disposition: 'attachment' }] })
    expect(await keep(email)).toBe('kept')
    const { bytes, ...row } = email
    const { teamId } = to
    expect(await storage().getReceivedEmail({ teamId, id: email.id }, T0)).toEqual({
      ...row,
      hasContent: true,
    })
    const source = (team: string) => storage().getReceivedSource({ teamId: team, id: email.id }, T0)
    expect(Buffer.from((await source(teamId))!)).toEqual(Buffer.from(bytes))
    expect(await source(other.teamId)).toBe(undefined)
    expect(await storage().getReceivedEmail({ teamId: other.teamId, id: email.id }, T0)).toBe(undefined)
    expect(await listed(other.teamId)).toEqual([])
    const range = { teamId, since: T0, until: T0 + 1, after: null, limit: 10 }
    const told = (await storage().listTeamEvents(range, T0)).filter(({ type }) => type === 'email.received')
    expect(told).toMatchObject([
      { emailId: null, data: { received: { emailId: email.id, attachments: [{ id: files.id }] } } },
    ])
  })

  test('searches received emails by sender, recipient, subject, and the email replied to', async () => {
    const to = await makeReceiver(storage())
    const answers = newId(T0)
    const one = newReceived(to, { subject: '100% sure' })
    const two = newReceived(to, { from: 'Bo <bo@y.example>', receivedFor: [`sales@${to.name}`], answers })
    await storage().keepReceivedEmails({ emails: [one, two], limits: LIMITS }, T0)
    expect(await listed(to.teamId)).toEqual([two.id, one.id])
    expect(await listed(to.teamId, { search: '100%' })).toEqual([one.id])
    expect(await listed(to.teamId, { search: 'BO@Y' })).toEqual([two.id])
    expect(await listed(to.teamId, { search: 'sales@' })).toEqual([two.id])
    expect(await listed(to.teamId, { answers })).toEqual([two.id])
  })

  test('filters received emails by domain, DMARC result and attachments', async () => {
    const to = await makeReceiver(storage())
    const file = { id: newId(T0), filename: 'a.txt', contentType: 'text/plain', contentId: null, size: 3 }
    const one = newReceived(to, { attachments: [{ ...file, disposition: 'attachment' }] })
    const [dmarc, arc] = [{ result: 'fail', domain: 'x.example' } as const, PASS]
    const two = newReceived(to, { authentication: { arc, dmarc, dkim: PASS, spf: PASS } })
    await storage().keepReceivedEmails({ emails: [one, two], limits: LIMITS }, T0)
    expect(await listed(to.teamId, { dmarc: 'pass' })).toEqual([one.id])
    expect(await listed(to.teamId, { dmarc: 'fail' })).toEqual([two.id])
    expect(await listed(to.teamId, { dmarc: 'none' })).toEqual([])
    expect(await listed(to.teamId, { hasAttachments: true })).toEqual([one.id])
    expect(await listed(to.teamId, { hasAttachments: false, domainId: to.domainId })).toEqual([two.id])
    expect(await listed(to.teamId, { domainId: newId(T0) })).toEqual([])
  })

  test('stores the spam filter’s verdict, and filters by it', async () => {
    const to = await makeReceiver(storage())
    const verdict = { flagged: true, score: 7.5, rejectScore: 15, symbols: ['HEAVY', 'LIGHT'] }
    const spam = newReceived(to, { spam: verdict })
    const passed = newReceived(to, { spam: { ...verdict, flagged: false } })
    const unjudged = newReceived(to)
    for (const email of [spam, passed, unjudged]) expect(await keep(email)).toBe('kept')
    expect(await listed(to.teamId, { isSpam: true })).toEqual([spam.id])
    expect(await listed(to.teamId, { isSpam: false })).toEqual([unjudged.id, passed.id])
    const stored = await storage().getReceivedEmail({ teamId: to.teamId, id: spam.id }, T0)
    expect(stored!.spam).toEqual(verdict)
  })

  test('limits received mail of a team in a day; mail over the limit is stored for no recipient', async () => {
    const [to, other] = [await makeReceiver(storage()), await makeReceiver(storage())]
    const limits = { messages: 2, bytes: 200 }
    expect(await keep(newReceived(to), limits)).toBe('kept')
    expect(await keep(newReceived(to, { size: 1000 }), limits)).toBe('full')
    expect(await keep(newReceived(to), limits)).toBe('kept')
    const both = [newReceived(other), newReceived(to)]
    expect(await storage().keepReceivedEmails({ emails: both, limits }, T0)).toBe('full')
    expect(await listed(other.teamId)).toEqual([])
    expect(await keep(newReceived(to, {}, T0 + DAY + 1), limits, T0 + DAY + 1)).toBe('kept')
  })

  test('stores only the metadata of an email if its domain keeps no content', async () => {
    const to = await makeReceiver(storage())
    await storage().setKeepBodies({ teamId: to.teamId, domainId: to.domainId, keep: false }, T0)
    const email = newReceived(to)
    expect(await keep(email)).toBe('kept')
    const args = { teamId: to.teamId, id: email.id }
    expect(await storage().getReceivedEmail(args, T0)).toMatchObject({ hasContent: false, subject: 'Hello' })
    expect(await storage().getReceivedSource(args, T0)).toBe(undefined)
  })

  test('forwards are pending until they are settled once', async () => {
    const [to, other] = [await makeReceiver(storage()), await makeReceiver(storage())]
    const email = { ...newReceived(to), forwardTo: ['b@x.example', 'a@x.example', 'a@x.example'] }
    await keep(email)
    const { teamId } = to
    const receivedId = email.id
    const settle = (at: string, result: ForwardResult) =>
      storage().settleForward({ receivedId, to: at, result }, T0)
    const next = () => storage().nextForward({}, T0)
    expect(await next()).toEqual({ teamId, receivedId, to: 'a@x.example' })
    await settle('a@x.example', { state: 'sent', emailId: 'e' })
    await settle('a@x.example', { state: 'skipped', reason: 'late' })
    expect(await next()).toEqual({ teamId, receivedId, to: 'b@x.example' })
    await settle('b@x.example', { state: 'skipped', reason: 'loop' })
    expect(await next()).toBe(undefined)
    expect(await storage().listForwards({ teamId, receivedId }, T0)).toEqual([
      { to: 'a@x.example', state: 'sent', emailId: 'e' },
      { to: 'b@x.example', state: 'skipped', reason: 'loop' },
    ])
    expect(await storage().listForwards({ teamId: other.teamId, receivedId }, T0)).toEqual([])
  })

  test('stores only the event of an email if the domain only sends it to webhooks', async () => {
    const to = await makeReceiver(storage())
    const email = { ...newReceived(to), eventOnly: true }
    expect(await keep(email)).toBe('kept')
    expect(await listed(to.teamId)).toEqual([])
    const range = { teamId: to.teamId, since: T0, until: T0 + 1, after: null, limit: 10 }
    const told = (await storage().listTeamEvents(range, T0)).filter(({ type }) => type === 'email.received')
    expect(told).toMatchObject([{ data: { received: { emailId: email.id, subject: 'Hello' } } }])
  })

  test('removes old received emails', async () => {
    const to = await makeReceiver(storage())
    const email = newReceived(to)
    await keep(email)
    await storage().purgeReceived({ before: T0 + 36_500 * DAY, most: 1000 }, T0)
    expect(await listed(to.teamId)).toEqual([])
  })
}
