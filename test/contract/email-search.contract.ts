import { expect, test } from 'vitest'
import { firstIdAt, newId } from '../../appliance/mail/ids.ts'
import type { EmailFilter, NewEmail, Storage } from '../../appliance/storage/storage.ts'
import { change, leaseArgs, makeTeam, MINUTE, newAttempt, putEmail, T0 } from './fixtures.ts'

/** Returns all results of a search, across all its chunks. */
async function find(storage: Storage, teamId: string, filter: EmailFilter, limit = 100): Promise<string[]> {
  const ids: string[] = []
  let after: string | undefined
  do {
    const { items, next } = await storage.searchEmails({ teamId, filter, limit, after }, T0)
    ids.push(...items.map(({ id }) => id))
    after = next ?? undefined
  } while (after !== undefined)
  return ids
}

export function emailSearchContract(storage: () => Storage): void {
  const put = (teamId: string, to: string, more: Partial<NewEmail> = {}) =>
    putEmail(storage(), teamId, [to], T0, more)

  test('without filters returns all emails, newest first, in pages', async () => {
    const { team } = await makeTeam(storage())
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.unshift((await put(team.id, 'a@example.net')).id)
    expect(await find(storage(), team.id, {}, 2)).toEqual(ids)
    const first = await storage().searchEmails({ teamId: team.id, filter: {}, limit: 2 }, T0)
    expect(first.next).toBe(ids[1])
  })

  test('never finds reports or emails of other teams, even by ID', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const { id } = await put(team.id, 'a@example.net')
    const report = await put(team.id, 'a@example.net', { via: 'report' })
    expect(await find(storage(), other.team.id, { id })).toEqual([])
    expect(await find(storage(), other.team.id, { to: 'a@example.net' })).toEqual([])
    expect(await find(storage(), team.id, { id: report.id })).toEqual([])
    expect(await find(storage(), team.id, {})).toEqual([id])
  })

  test('each filter matches only its own field', async () => {
    const { team } = await makeTeam(storage())
    const plain = await put(team.id, 'ada@reader.example', { subject: 'Invoice 100% due_now' })
    const other = await put(team.id, 'xada@other.example', {
      subject: 'Something else',
      from: 'news@mail.other.example',
      tags: [{ name: 'kind_of', value: 'news' }],
      messageId: '<strange@elsewhere>',
      apiKeyId: 'key-7',
    })
    const finds = async (filter: EmailFilter) => {
      const ids = await find(storage(), team.id, filter)
      return ids.map((id) => (id === plain.id ? 'plain' : id === other.id ? 'other' : id))
    }
    const both = ['other', 'plain']
    expect(await finds({ id: plain.id })).toEqual(['plain'])
    expect(await finds({ to: 'ADA@Reader.example' })).toEqual(['plain'])
    // A term with a local part matches the start of an address; one without it matches any part.
    expect(await finds({ to: 'ada@other.example' })).toEqual([])
    expect(await finds({ to: 'ada' })).toEqual(both)
    expect(await finds({ to: 'ada@' })).toEqual(['plain'])
    expect(await finds({ to: 'ada@rea' })).toEqual(['plain'])
    expect(await finds({ to: 'da@reader.example' })).toEqual([])
    expect(await finds({ to: '@other.example' })).toEqual(['other'])
    expect(await finds({ toDomain: 'READER.example' })).toEqual(['plain'])
    expect(await finds({ toDomain: 'example' })).toEqual([])
    expect(await finds({ domain: 'example.com' })).toEqual(['plain'])
    expect(await finds({ domain: 'mail.other.example' })).toEqual(['other'])
    expect(await finds({ domain: 'other.example' })).toEqual([])
    expect(await finds({ from: 'SHOP' })).toEqual(['plain'])
    expect(await finds({ tag: { name: 'kind', value: null } })).toEqual(['plain'])
    expect(await finds({ tag: { name: 'kind', value: 'receipt' } })).toEqual(['plain'])
    expect(await finds({ tag: { name: 'kind', value: 'rec' } })).toEqual([])
    expect(await finds({ tag: { name: 'kind_of', value: 'news' } })).toEqual(['other'])
    expect(await finds({ tag: { name: 'kind-of', value: 'news' } })).toEqual([])
    expect(await finds({ apiKey: 'key-7' })).toEqual(['other'])
    expect(await finds({ messageId: '<strange@elsewhere>' })).toEqual(['other'])
    expect(await finds({ subject: ['invoice', 'DUE'] })).toEqual(['plain'])
    expect(await finds({ subject: ['invoice', 'else'] })).toEqual([])
    // Pattern characters match literally.
    expect(await finds({ subject: ['100%'] })).toEqual(['plain'])
    expect(await finds({ subject: ['1%'] })).toEqual([])
    expect(await finds({ subject: ['due_now'] })).toEqual(['plain'])
    expect(await finds({ subject: ['e_s'] })).toEqual([])
    expect(await finds({ subject: ['\\'] })).toEqual([])
    expect(await finds({ status: ['queued', 'sent'] })).toEqual(both)
    expect(await finds({ status: ['bounced'] })).toEqual([])
  })

  test('finds an API key by its name, but not a key of another team', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const key = {
      name: 'Shop',
      permission: 'full_access',
      domainId: null,
      prefix: null,
      createdAt: T0,
      lastUsedAt: null,
    } as const
    for (const teamId of [team.id, other.team.id])
      await storage().createApiKey({ ...key, id: `key-${teamId}`, teamId, tokenHash: `hash-${teamId}` }, T0)
    const { id } = await put(team.id, 'a@example.net', { apiKeyId: `key-${team.id}` })
    await put(team.id, 'a@example.net', { apiKeyId: `key-${other.team.id}` })
    expect(await find(storage(), team.id, { apiKey: 'Shop' })).toEqual([id])
  })

  test('compares times with the time of the ID, excluding the end', async () => {
    const { team } = await makeTeam(storage())
    const at = (ms: number) => firstIdAt(ms).replace(/0{12}$/, newId(T0).slice(24))
    const [old, middle, young] = [at(T0 - 2 * MINUTE), at(T0 - MINUTE), at(T0)]
    for (const id of [old, middle, young]) await put(team.id, 'a@example.net', { id })
    expect(await find(storage(), team.id, { since: T0 - MINUTE })).toEqual([young, middle])
    expect(await find(storage(), team.id, { until: T0 - MINUTE })).toEqual([old])
    expect(await find(storage(), team.id, { since: T0 - MINUTE, until: T0 })).toEqual([middle])
  })

  test('returns the attempts and last reply of the recipients, and searches by reply', async () => {
    const { team } = await makeTeam(storage())
    const email = await put(team.id, 'a@example.net')
    const waiting = await storage().searchEmails({ teamId: team.id, filter: {}, limit: 5 }, T0)
    expect(waiting.items).toMatchObject([{ id: email.id, attempts: 0, last: null }])
    await storage().lease(leaseArgs(), T0)
    const said = change(email.deliveries[0]!.id, 'delivered', 'email.delivered')
    const reply = { code: 250, enhanced: null, text: 'Ok: queued as "4ZX9q"' }
    const deliveries = [{ ...said, cause: { ...said.cause, reply } }]
    const attempt = newAttempt(email, [email.deliveries[0]!.id])
    await storage().settle({ owner: 'one', attempt, changes: deliveries }, T0 + 1)
    const found = await storage().searchEmails({ teamId: team.id, filter: {}, limit: 5 }, T0)
    expect(found.items[0]).toMatchObject({
      lastEvent: 'delivered',
      attempts: 1,
      last: { recipient: 'a@example.net', state: 'delivered', cause: { reply } },
    })
    expect(await find(storage(), team.id, { reply: 'as "4zx9Q"' })).toEqual([email.id])
    expect(await find(storage(), team.id, { reply: '4ZX8q' })).toEqual([])
  })

  test('counts each recipient of an email once, by its state', async () => {
    const { team } = await makeTeam(storage())
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const email = await putEmail(
      storage(),
      team.id,
      names.map((name) => `${name}@example.net`),
    )
    const look = async () => {
      const { items } = await storage().searchEmails({ teamId: team.id, filter: {}, limit: 5 }, T0)
      const { recipients, opened, clicked } = items[0]!
      return { recipients, opened, clicked }
    }
    expect(await look()).toEqual({ recipients: { queued: 6 }, opened: false, clicked: false })
    await storage().lease(leaseArgs(), T0)
    expect((await look()).recipients).toEqual({ sent: 6 })
    const [a, b, c, d, e] = email.deliveries.map(({ id }) => id) as [string, string, string, string, string]
    const changes = [
      ...[a, b, c].map((id) => change(id, 'delivered', 'email.delivered')),
      change(d, 'bounced', 'email.bounced'),
      { ...change(e, 'waiting', 'email.delivery_delayed'), dueAt: T0 + MINUTE },
    ]
    await storage().settle({ owner: 'one', attempt: null, changes }, T0)
    await storage().complain(
      { teamId: team.id, emailId: email.id, deliveryId: b, reason: 'He said so.', suppress: false },
      T0,
    )
    const visit = { ipAddress: '', timestamp: '', userAgent: 'x' }
    const hit = { teamId: team.id, emailId: email.id, deliveryId: null, type: 'email.opened' as const }
    await storage().recordHit({ ...hit, id: newId(T0), data: { robot: true, open: visit } }, T0)
    expect(await look()).toEqual({
      recipients: { complained: 1, bounced: 1, delivered: 2, delayed: 1, sent: 1 },
      opened: false,
      clicked: false,
    })
    await storage().recordHit({ ...hit, id: newId(T0), data: { open: visit } }, T0)
    expect(await look()).toMatchObject({ opened: true, clicked: false })
  })

  test('finds emails by one or more statuses, in one order', async () => {
    const { team } = await makeTeam(storage())
    const ids: string[] = []
    for (const [to, state] of [
      ['a@example.net', 'bounced'],
      ['b@example.net', 'delivered'],
      ['c@example.net', 'failed'],
      ['d@example.net', 'bounced'],
    ] as const) {
      const email = await put(team.id, to)
      ids.push(email.id)
      await storage().lease(leaseArgs(), T0)
      const changes = [change(email.deliveries[0]!.id, state, `email.${state}`)]
      await storage().settle({ owner: 'one', attempt: null, changes }, T0)
    }
    const [a, b, c, d] = ids
    expect(await find(storage(), team.id, { status: ['bounced'] })).toEqual([d, a])
    expect(await find(storage(), team.id, { status: ['bounced', 'failed'] })).toEqual([d, c, a])
    expect(await find(storage(), team.id, { status: ['bounced', 'failed'] }, 1)).toEqual([d, c, a])
    expect(await find(storage(), team.id, { status: ['failed', 'delivered'] })).toEqual([c, b])
    expect(await find(storage(), team.id, { status: ['bounced'], to: 'a@example.net' })).toEqual([a])
  })

  test('returns an empty list if no webhook received the email', async () => {
    const { team } = await makeTeam(storage())
    const { id } = await put(team.id, 'a@example.net')
    expect(await storage().webhooksOfEmail({ teamId: team.id, emailId: id, limit: 5 }, T0)).toEqual([])
  })
}
