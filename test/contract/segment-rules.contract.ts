import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Rule, Rules } from '../../appliance/mail/rules.ts'
import type { Segment, Storage } from '../../appliance/storage/storage.ts'
import { act, audienceStage, explicit } from './audience-stage.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { DAY, putEmail, T0, unique } from './fixtures.ts'

const rule = (field: string, operator: Rule['operator'], value?: Rule['value']): Rule => ({
  type: 'rule',
  field: `contact.${field}`,
  operator,
  ...(value !== undefined && { value }),
})

async function stage(storage: Storage) {
  const all = await audienceStage(storage)
  const { teamId } = all
  const addProperty = async (key: string, type: 'string' | 'number') => {
    const property = { id: newId(T0), teamId, key, label: unique('p').replace('-', ''), type }
    await storage.createContactProperty(
      { property: { ...property, fallback: null, createdAt: T0 }, most: 9 },
      T0,
    )
    return property
  }
  const addRuled = async (filter: Rules): Promise<Segment> => {
    const segment = { id: newId(T0), teamId, name: unique('Ruled'), filter, createdAt: T0, updatedAt: T0 }
    expect(await storage.createSegment({ segment, most: 100 }, T0)).toBe(true)
    return segment
  }
  /** Returns the names of matching contacts, oldest first. */
  const who = async (rules: Rules, now = T0 + 50 * DAY) => {
    const { items, next } = await storage.searchContacts({ teamId, rules, limit: 50 }, now)
    const { count } = await storage.countMatching({ teamId, rules }, now)
    expect([next, count]).toEqual([null, items.length])
    return items.map(({ firstName }) => firstName).toReversed()
  }
  const hit = async (
    address: string,
    type: 'email.opened' | 'email.clicked',
    at: number,
    more: object = {},
  ) => {
    const email = await putEmail(storage, teamId, [address])
    const data = { recipient: address, ...more }
    const about = { id: newId(at), teamId, emailId: email.id, deliveryId: null }
    await storage.recordHit({ ...about, type, data }, at)
  }
  return { ...all, addProperty, addRuled, who, hit }
}

/** Tests of segments with computed membership. */
export function segmentRulesContract(storage: () => Storage): void {
  test('rules match contacts by text and number properties, in any case, and by missing values', async () => {
    const { add, addProperty, who } = await stage(storage())
    const [plan, seats] = [await addProperty('plan', 'string'), await addProperty('seats', 'number')]
    const properties = (a: string, b: number) => ({ [plan.label]: a, [seats.label]: b })
    await add({ firstName: 'Ada', lastName: 'Byron', properties: properties('Pro', 3) })
    await add({ firstName: 'Bob', properties: properties('free_100%', 20.5) })
    await add({ firstName: 'Cy' })
    const cases: [Rules, string[]][] = [
      [rule('properties.plan', 'eq', 'pro'), ['Ada']],
      [rule('properties.plan', 'neq', 'PRO'), ['Bob', 'Cy']],
      [rule('properties.plan', 'contains', '_1'), ['Bob']],
      [rule('properties.plan', 'contains', '%'), ['Bob']],
      [rule('properties.plan', 'starts_with', 'p'), ['Ada']],
      [rule('properties.plan', 'ends_with', 'O'), ['Ada']],
      [rule('properties.plan', 'exists'), ['Ada', 'Bob']],
      [rule('properties.plan', 'is_empty'), ['Cy']],
      [rule('properties.seats', 'gt', 3), ['Bob']],
      [rule('properties.seats', 'gte', 3), ['Ada', 'Bob']],
      [rule('properties.seats', 'lt', 20.5), ['Ada']],
      [rule('properties.seats', 'lte', 20.5), ['Ada', 'Bob']],
      [rule('properties.seats', 'eq', 3), ['Ada']],
      [rule('properties.seats', 'neq', 3), ['Bob', 'Cy']],
      [rule('properties.seats', 'exists'), ['Ada', 'Bob']],
      [rule('properties.seats', 'is_empty'), ['Cy']],
      [rule('properties.gone', 'eq', 'x'), []],
      [rule('properties.gone', 'is_empty'), ['Ada', 'Bob', 'Cy']],
      [rule('last_name', 'is_empty'), ['Bob', 'Cy']],
      [rule('email', 'ends_with', '@EXAMPLE.com'), ['Ada', 'Bob', 'Cy']],
      [{ type: 'and', rules: [rule('properties.seats', 'gt', 1), rule('last_name', 'exists')] }, ['Ada']],
      [
        {
          type: 'or',
          rules: [
            rule('first_name', 'eq', 'cy'),
            { type: 'and', rules: [rule('properties.plan', 'exists'), rule('last_name', 'is_empty')] },
          ],
        },
        ['Bob', 'Cy'],
      ],
    ]
    for (const [rules, names] of cases) expect([rules, await who(rules)]).toEqual([rules, names])
  })

  test('rules match contacts by topics, segments, opt-outs and suppressions', async () => {
    const { teamId, add, addSegment, addTopic, who } = await stage(storage())
    const [news, offers] = [await addTopic(), await addTopic({ defaultSubscription: 'opt_out' })]
    const vip = await addSegment()
    const topics = [
      { id: news.id, subscription: 'opt_out' as const },
      { id: offers.id, subscription: 'opt_in' as const },
    ]
    await add({ firstName: 'Ada', topics, segmentIds: [vip.id] })
    await add({ firstName: 'Bob', unsubscribed: true })
    const { email } = await add({ firstName: 'Cy' })
    const entry = { id: newId(T0), teamId, email, origin: 'manual' as const, sourceId: null, createdAt: T0 }
    await storage().addSuppressions({ teamId, suppressions: [entry] }, T0)
    expect(await who(rule(`topics.${news.id}`, 'eq', 'opt_in'))).toEqual(['Bob', 'Cy'])
    expect(await who(rule(`topics.${news.id}`, 'neq', 'opt_in'))).toEqual(['Ada'])
    expect(await who(rule(`topics.${offers.id}`, 'eq', 'opt_in'))).toEqual(['Ada'])
    expect(await who(rule(`topics.${newId(T0)}`, 'neq', 'opt_in'))).toEqual([])
    expect(await who(rule(`segments.${vip.id}`, 'eq', true))).toEqual(['Ada'])
    expect(await who(rule(`segments.${vip.id}`, 'eq', false))).toEqual(['Bob', 'Cy'])
    expect(await who(rule('unsubscribed', 'eq', true))).toEqual(['Bob'])
    expect(await who(rule('unsubscribed', 'neq', true))).toEqual(['Ada', 'Cy'])
    expect(await who(rule('suppressed', 'eq', true))).toEqual(['Cy'])
    const search = async (suppressed: boolean) =>
      (await storage().searchContacts({ teamId, suppressed, limit: 9 }, T0)).items.map((one) => one.firstName)
    expect([await search(true), await search(false)]).toEqual([['Cy'], ['Bob', 'Ada']])
    expect(await storage().countSuppressedContacts({ teamId }, T0)).toBe(1)
  })

  test('rules match contacts by time and by opens and clicks, excluding bots', async () => {
    const { add, who, hit, update } = await stage(storage())
    const ada = await add({ firstName: 'Ada' })
    const bob = await add({ firstName: 'Bob' }, act(), T0 + 40 * DAY)
    await hit(ada.email.toUpperCase(), 'email.clicked', T0 + 10 * DAY)
    await hit(bob.email, 'email.clicked', T0 + 45 * DAY, { robot: true })
    await hit(bob.email, 'email.opened', T0 + 45 * DAY)
    expect(await who(rule('created_at', 'gte', '2026-02-01'))).toEqual(['Bob'])
    expect(await who(rule('created_at', 'lt', '2026-01-01T00:00:01Z'))).toEqual(['Ada'])
    expect(await who(rule('last_clicked_at', 'exists'))).toEqual(['Ada'])
    expect(await who(rule('last_clicked_at', 'is_empty'))).toEqual(['Bob'])
    expect(await who(rule('last_opened_at', 'gt', '6 days ago'))).toEqual(['Bob'])
    expect(await who(rule('last_opened_at', 'gt', '6 days ago'), T0 + 60 * DAY)).toEqual([])
    // Updating the contact doesn't change these times.
    await update(ada.id, { lastName: 'Byron' })
    const engaged = async ({ id, teamId }: { id: string; teamId: string }) => {
      const found = await storage().getContact({ teamId, ref: { id } }, T0)
      return [found?.lastOpenedAt, found?.lastClickedAt]
    }
    expect(await engaged(ada)).toEqual([null, T0 + 10 * DAY])
    expect(await engaged(bob)).toEqual([T0 + 45 * DAY, null])
    expect(await who(rule('last_clicked_at', 'lte', '5 weeks ago'))).toEqual(['Ada'])
  })

  test('computes the members of a segment with rules wherever segments are used', async () => {
    const { teamId, add, addRuled, addSegment, get } = await stage(storage())
    const hers = await addRuled(rule('first_name', 'eq', 'Ada'))
    const vip = await addSegment('VIP')
    const ada = await add({ firstName: 'Ada', segmentIds: [vip.id] })
    const bob = await add({ firstName: 'Bob' })
    const list = async (more: object = {}) => {
      const { items } = await storage().listContacts({ teamId, segmentId: hers.id, limit: 9, ...more }, T0)
      return items.map(({ id }) => id)
    }
    expect([await list(), await list({ unsubscribed: true }), await list({ before: ada.id })]).toEqual([
      [ada.id],
      [],
      [],
    ])
    const found = await storage().searchContacts({ teamId, segmentId: hers.id, text: 'a', limit: 9 }, T0)
    expect(found.items.map(({ id }) => id)).toEqual([ada.id])
    const segmentsOf = async (contactId: string, more: object = {}) => {
      const page = await storage().listContactSegments({ teamId, contactId, limit: 9, ...more }, T0)
      return page.items.map(({ id, addedAt }) => [id, addedAt])
    }
    expect(await segmentsOf(ada.id)).toEqual([
      [vip.id, T0],
      [hers.id, T0],
    ])
    expect(await segmentsOf(ada.id, { after: vip.id })).toEqual([[hers.id, T0]])
    expect(await segmentsOf(bob.id)).toEqual([])
    const isIn = ({ id }: { id: string }) =>
      storage().isInSegment({ teamId, ref: { id }, segmentId: hers.id }, T0)
    expect([await isIn(ada), await isIn(bob)]).toEqual([true, false])
    const context = await storage().contactContext({ teamId, contacts: [ada, bob] }, T0)
    expect(context.segments).toEqual(new Map([[ada.id, [vip, hers].map(({ id, name }) => ({ id, name }))]]))
    const refused = { kind: 'segment_with_rules', id: hers.id }
    const args = { teamId, ref: { id: bob.id }, segmentId: hers.id }
    expect(await storage().addToSegment(args, T0)).toEqual(refused)
    expect(await storage().removeFromSegment(args, T0)).toEqual(refused)
    const change = { kind: 'add_to_segment' as const, segmentId: hers.id }
    expect(await storage().changeContacts({ teamId, ids: [bob.id], change, act: explicit }, T0)).toEqual(
      refused,
    )
    const contact = { id: newId(T0), teamId, email: 'new@example.com', segmentIds: [hers.id], topics: [] }
    expect(await storage().saveContact({ contact, act: act() }, T0)).toEqual(refused)
    expect(await get(contact.id)).toBeUndefined()
  })

  test('changes rules only of segments with rules, and stores a size only for the current rules', async () => {
    const { teamId, addRuled, addSegment } = await stage(storage())
    const [before, after] = [rule('unsubscribed', 'eq', true), rule('unsubscribed', 'eq', false)]
    const [ruled, plain] = [await addRuled(before), await addSegment()]
    const get = async (id: string) => {
      const found = await storage().getSegment({ teamId, id }, T0)
      return [found?.filter, found?.contacts, found?.countedAt]
    }
    const count = (filter: Rules) => storage().saveSegmentCount({ id: ruled.id, filter, contacts: 7 }, T0 + 1)
    expect(await get(ruled.id)).toEqual([before, 0, null])
    await count(after)
    expect(await get(ruled.id)).toEqual([before, 0, null])
    await count(before)
    expect(await get(ruled.id)).toEqual([before, 7, T0 + 1])
    const change = (id: string) => storage().updateSegment({ teamId, id, change: { filter: after } }, T0 + 2)
    expect([await change(plain.id), await change(ruled.id)]).toEqual([false, true])
    expect(await get(plain.id)).toEqual([null, 0, null])
    expect(await get(ruled.id)).toEqual([after, 7, null])
    const third = { ...ruled, id: newId(T0) }
    expect(await storage().createSegment({ segment: third, most: 1 }, T0)).toBe(false)
    expect(await storage().createSegment({ segment: third, most: 2 }, T0)).toBe(true)
  })

  test('rules match contacts by the events of a broadcast of their team', async () => {
    const { teamId, join, add, sending, enqueue } = await broadcastStage(storage())
    const ada = await join({ firstName: 'Ada' })
    await join({ firstName: 'Bob' })
    await add({ firstName: 'Cy' })
    const id = await sending()
    await enqueue(id)
    const { items: emails } = await storage().listEmails({ teamId, limit: 9, broadcastId: id }, T0)
    const emailId = emails.find(({ to }) => to.includes(ada.email))!.id
    const click = { ipAddress: '', timestamp: '', userAgent: '', link: 'https://a.example/' }
    const hit = { id: newId(T0), teamId, emailId, deliveryId: null, type: 'email.clicked' } as const
    await storage().recordHit({ ...hit, data: { click } }, T0 + 1)
    const who = async (operator: 'eq' | 'neq', value: string, of = { teamId, id }) => {
      const rules = rule(`broadcasts.${of.id}`, operator, value)
      const { items } = await storage().searchContacts({ teamId: of.teamId, rules, limit: 9 }, T0 + DAY)
      return items.map(({ firstName }) => firstName).toSorted()
    }
    expect(await who('eq', 'sent')).toEqual(['Ada', 'Bob'])
    expect(await who('neq', 'sent')).toEqual(['Cy'])
    expect(await who('eq', 'opened')).toEqual([])
    expect(await who('eq', 'clicked')).toEqual(['Ada'])
    expect(await who('neq', 'clicked')).toEqual(['Bob', 'Cy'])
    expect(await who('neq', 'clicked', { teamId, id: newId(T0) })).toHaveLength(3)
    const other = await audienceStage(storage())
    await other.add({ firstName: 'Eve' })
    expect(await who('neq', 'clicked', { teamId: other.teamId, id })).toEqual(['Eve'])
  })
}
