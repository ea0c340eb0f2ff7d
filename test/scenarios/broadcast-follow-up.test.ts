import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { PATIENCE } from '../world/patience.ts'

/** The results of a broadcast over time, compared with earlier ones, and a follow-up to those who didn't click. */

let appliance: TestAppliance
beforeAll(async () => {
  appliance = await startAppliance()
})
afterAll(() => appliance.close())

const LINK = 'https://acme.example/offer'
const READERS = ['clicks', 'later', 'silent']

const ask = <T = Record<string, unknown>>(method: string, path: string, body?: object) =>
  appliance.call<T>(method, path, body)
async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await ask<T>(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}
const eventually = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 50 })

interface Shown {
  name: string
  subject: string
  html: string
  status: string
  segment_id: string
  exclude_segment_ids: string[]
}
interface Results {
  clicked: number
  first_48_hours: { at: string; delivered: number; opened: number; clicked: number }[]
  earlier: Record<string, number | null>
}
const shown = (id: string) => call<Shown>('GET', `/broadcasts/${id}`)
const results = (id: string) => call<Results>('GET', `/broadcasts/${id}/results`)

async function createSegment(names: readonly string[]): Promise<string> {
  const { id } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = names.map((name) => `${name}@customer.test`)
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [id] })
  return id
}

async function createDraft(segment: string, name: string): Promise<string> {
  const draft = {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'Offer',
    name,
    html: `<a href="${LINK}">Offer</a><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>`,
  }
  return (await call<{ id: string }>('POST', '/broadcasts', draft)).id
}

async function send(id: string): Promise<void> {
  await call('POST', `/broadcasts/${id}/send`, {})
  await eventually(async () => (await shown(id)).status).toBe('sent')
}

/** The recipients of a broadcast, with the IDs of their emails. */
async function recipients(id: string): Promise<Map<string, string>> {
  const { data } = await call<{ data: { id: string; to: string[] }[] }>('GET', `/emails?broadcast_id=${id}`)
  return new Map(data.map((one) => [one.to[0]!.split('@')[0]!, one.id]))
}

/** Records a person's click, as a visit of the link does. */
async function click(emailId: string): Promise<void> {
  const { storage } = appliance.appliance
  const now = Date.now()
  const { deliveryId } = (await storage.trackedEmail({ emailId }, now))!
  const data = { click: { ipAddress: '', timestamp: new Date(now).toISOString(), userAgent: '', link: LINK } }
  const { teamId } = appliance
  await storage.recordHit({ id: newId(now), teamId, emailId, deliveryId, type: 'email.clicked', data }, now)
}

test('a copy for contacts who did not click also excludes later clicks, and is compared with the original', async () => {
  const segment = await createSegment(READERS)
  const id = await createDraft(segment, 'May')
  const before = await results(id)
  expect(before).toMatchObject({ first_48_hours: [], earlier: { broadcasts: 0, delivered: null } })
  await send(id)
  const emails = await recipients(id)
  expect([...emails.keys()].toSorted()).toEqual(READERS)
  await click(emails.get('clicks')!)
  await eventually(async () => (await results(id)).first_48_hours.at(-1)).toMatchObject({
    delivered: 3,
    opened: 0,
    clicked: 1,
  })
  expect((await results(id)).first_48_hours).toHaveLength(1)

  const copy = await call<{ id: string }>('POST', `/broadcasts/${id}/duplicate`, { without: 'clicked' })
  const [original, draft] = [await shown(id), await shown(copy.id)]
  const { subject, html, segment_id } = original
  expect(draft).toMatchObject({ name: 'May (not clicked)', status: 'draft', subject, html, segment_id })
  const rule = { type: 'rule', field: `contact.broadcasts.${id}`, operator: 'eq', value: 'clicked' }
  const [excluded] = draft.exclude_segment_ids
  expect(await call('GET', `/segments/${excluded}`)).toMatchObject({ name: 'Clicked: May', filter: rule })
  const review = () => call('GET', `/broadcasts/${copy.id}/review`)
  expect(await review()).toMatchObject({ recipients: { contacts: 3, eligible: 2, out: { excluded: 1 } } })
  await click(emails.get('later')!)
  expect(await review()).toMatchObject({ recipients: { eligible: 1, out: { excluded: 2 } } })
  await send(copy.id)
  expect([...(await recipients(copy.id)).keys()]).toEqual(['silent'])
  await eventually(async () => (await results(copy.id)).earlier).toEqual({
    broadcasts: 1,
    delivered: 1,
    bounced: 0,
    opened: 0,
    clicked: 2 / 3,
    unsubscribed: 0,
    complained: 0,
  })

  const second = await call<{ id: string }>('POST', `/broadcasts/${id}/duplicate`, { without: 'clicked' })
  expect((await shown(second.id)).exclude_segment_ids).toEqual([excluded])
})

test('rejects a follow-up copy of a broadcast that was not sent, or with an unknown condition', async () => {
  const segment = await createSegment(['one'])
  const id = await createDraft(segment, 'Draft')
  const path = `/broadcasts/${id}/duplicate`
  const refused = await ask<{ message: string }>('POST', path, { without: 'clicked' })
  expect([refused.status, refused.body.message]).toEqual([
    422,
    expect.stringContaining('Invalid `without` field: absent, because it was not sent') as string,
  ])
  expect((await ask('POST', path, { without: 'bounced' })).status).toBe(422)
  expect((await ask('POST', path)).status).toBe(200)
  expect((await ask('POST', path, {})).status).toBe(200)
})

test('rejects rules about unknown broadcasts', async () => {
  const filter = (value: unknown, id = newId(Date.now())) => ({
    name: 'Clicked',
    filter: { type: 'rule', field: `contact.broadcasts.${id}`, operator: 'eq', value },
  })
  const refused = await ask<{ message: string }>('POST', '/segments', filter('clicked'))
  expect([refused.status, refused.body.message]).toEqual([
    422,
    expect.stringContaining('Invalid `filter.field` field: a broadcast that exists') as string,
  ])
  const other = await ask<{ message: string }>('POST', '/segments', filter('bounced'))
  expect(other.body.message).toContain('`sent`, `opened` or `clicked`')
})
