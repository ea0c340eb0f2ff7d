import { expect, test } from 'vitest'
import type { Form } from '../../appliance/mail/form.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewSignup, Storage } from '../../appliance/storage/storage.ts'
import { audienceStage } from './audience-stage.ts'
import { DAY, makeTeam, MINUTE, T0, unique } from './fixtures.ts'

/** Returns a form. Not stored. */
export const newForm = (teamId: string, more: Partial<Form> = {}): Form => ({
  id: newId(T0),
  teamId,
  name: unique('Form'),
  status: 'enabled',
  segmentIds: [],
  topicIds: [],
  fields: [],
  from: 'News <news@example.com>',
  languages: ['en'],
  words: {},
  origins: [],
  submittedUrl: null,
  confirmedUrl: null,
  submitted: 0,
  confirmed: 0,
  createdAt: T0,
  updatedAt: T0,
  ...more,
})

/** Returns a sign-up. Not stored. */
export const newSignup = (formId: string, more: Partial<NewSignup> = {}): NewSignup => ({
  id: newId(T0),
  formId,
  email: `${unique('ada')}@example.com`,
  given: {},
  language: 'en',
  wording: 'Subscribe',
  ...more,
})

export async function storeForm(storage: Storage, teamId: string, more: Partial<Form> = {}): Promise<Form> {
  const form = newForm(teamId, more)
  expect(await storage.createForm({ form, most: 100 }, T0)).toBe(true)
  return form
}

const HOUR = 60 * MINUTE
const visitor = { ip: '192.0.2.1', userAgent: 'Browser/1' }

/** Tests sign-up forms and what is sent with them. */
export function formsContract(storage: () => Storage): void {
  test('forms belong to one team, are updated field by field, and limited in number', async () => {
    const [{ team }, other] = [await makeTeam(storage()), await makeTeam(storage())]
    const teamId = team.id
    const words = { de: { title: 'Rundbrief', text: null, consent: null, button: null, subject: null } }
    const form = await storeForm(storage(), teamId, {
      words: { de: { ...words.de, message: null, labels: { first_name: 'Vorname' } } },
      fields: [{ name: 'first_name', required: true }],
    })
    expect(await storage().getForm({ teamId, id: form.id }, T0)).toEqual(form)
    expect(await storage().findForm({ id: form.id }, T0)).toEqual(form)
    expect(await storage().getForm({ teamId: other.team.id, id: form.id }, T0)).toBeUndefined()
    const change = { status: 'disabled' } as const
    const changed = { ...form, ...change, updatedAt: T0 + 5 }
    const elsewhere = { teamId: other.team.id, id: form.id }
    expect(await storage().updateForm({ ...elsewhere, change }, T0)).toBeUndefined()
    expect(await storage().updateForm({ teamId, id: form.id, change }, T0 + 5)).toEqual(changed)
    const second = await storeForm(storage(), teamId)
    expect(await storage().listForms({ teamId }, T0)).toEqual([second, changed])
    expect(await storage().createForm({ form: newForm(teamId), most: 2 }, T0)).toBe(false)
    expect(await storage().deleteForm(elsewhere, T0)).toBeUndefined()
    expect(await storage().deleteForm({ teamId, id: form.id }, T0)).toEqual(changed)
    expect(await storage().listForms({ teamId }, T0)).toEqual([second])
  })

  test('a sign-up is mailed once and confirmed once, and creates a contact', async () => {
    const { teamId, addSegment, addTopic, choicesOf, told } = await audienceStage(storage())
    const [segment, topic] = [await addSegment(), await addTopic({ defaultSubscription: 'opt_out' })]
    const gone = await addTopic()
    const refs = { segmentIds: [segment.id], topicIds: [topic.id, gone.id] }
    const form = await storeForm(storage(), teamId, refs)
    await storage().deleteTopic({ teamId, id: gone.id }, T0)
    const signup = newSignup(form.id, { given: { firstName: 'Ada', properties: { p1: 5 } } })
    expect(await storage().submitSignup({ signup }, T0)).toBe('taken')
    const due = async () =>
      (await storage().dueSignups({ after: '', most: 100 }, T0)).filter((one) => one.form.id === form.id)
    expect(await due()).toMatchObject([{ signup: { ...signup, teamId, open: true }, form: { submitted: 1 } }])
    await storage().settleSignup({ id: signup.id, sent: true }, T0)
    expect(await due()).toEqual([])
    const confirmed = await storage().confirmSignup({ id: signup.id, ...visitor }, T0 + HOUR)
    expect(confirmed).toMatchObject({ id: form.id, submitted: 1, confirmed: 1 })
    expect(await storage().confirmSignup({ id: signup.id, ...visitor }, T0 + HOUR)).toBeUndefined()
    const contact = (await storage().getContact({ teamId, ref: { email: signup.email } }, T0))!
    expect(contact).toMatchObject({ firstName: 'Ada', lastName: null, properties: { p1: 5 }, optOut: null })
    expect(contact).toMatchObject({ createdBy: 'person', createdFrom: form.id })
    expect(await choicesOf(contact.id)).toEqual([[topic.id, 'opt_in']])
    expect(await told()).toContain('contact.created')
    const log = await storage().listConsents({ teamId, contactId: contact.id, email: contact.email }, T0)
    const about = { via: 'form', source: form.id, ...visitor, wording: 'Subscribe', subscription: 'opt_in' }
    expect(log).toHaveLength(2)
    for (const entry of log) expect(entry).toMatchObject({ ...about, was: null })
    expect(await storage().getSignup({ id: signup.id }, T0)).toMatchObject({ open: false, given: {} })
  })

  test('a confirmed sign-up lifts an opt-out, even if the contact was deleted', async () => {
    const { teamId, add, update, remove, told } = await audienceStage(storage())
    const form = await storeForm(storage(), teamId)
    for (const isDeleted of [false, true]) {
      const contact = await add()
      await update(contact.id, { unsubscribed: true })
      if (isDeleted) await remove(contact.id)
      const signup = newSignup(form.id, { email: contact.email.toUpperCase() })
      await storage().submitSignup({ signup }, T0)
      await storage().confirmSignup({ id: signup.id, ...visitor }, T0 + 10)
      const found = (await storage().getContact({ teamId, ref: { email: contact.email } }, T0))!
      expect(found.optOut).toBeNull()
      const log = await storage().listConsents({ teamId, contactId: found.id, email: found.email }, T0)
      expect(log.map(({ was, subscription }) => [was, subscription])[0]).toEqual(['opt_out', 'opt_in'])
      expect(log).toHaveLength(2)
    }
    expect(await told()).toContain('contact.updated')
  })

  test('sends an address one email an hour and three a day per team, and none while it is suppressed', async () => {
    const { teamId } = await audienceStage(storage())
    const [one, other] = [await storeForm(storage(), teamId), await storeForm(storage(), teamId)]
    const elsewhere = await storeForm(storage(), (await makeTeam(storage())).team.id)
    const email = `${unique('often')}@example.com`
    const mailed = async (formId: string, now: number, to = email) => {
      const signup = newSignup(formId, { email: to })
      expect(await storage().submitSignup({ signup }, now)).toBe('taken')
      return (await storage().getSignup({ id: signup.id }, now)) !== undefined
    }
    expect(await mailed(one.id, T0)).toBe(true)
    expect(await mailed(other.id, T0 + HOUR - 1, email.toUpperCase())).toBe(false)
    expect(await mailed(elsewhere.id, T0)).toBe(true)
    expect(await mailed(other.id, T0 + HOUR)).toBe(true)
    expect(await mailed(one.id, T0 + 2 * HOUR)).toBe(true)
    expect(await mailed(one.id, T0 + 3 * HOUR)).toBe(false)
    expect(await mailed(one.id, T0 + DAY)).toBe(true)
    const blocked = `${unique('blocked')}@example.com`
    const entry = { id: newId(T0), teamId, email: blocked, origin: 'manual' as const, createdAt: T0 }
    await storage().addSuppressions({ teamId, suppressions: [{ ...entry, sourceId: null }] }, T0)
    expect(await mailed(one.id, T0, blocked)).toBe(false)
    await storage().updateForm({ teamId, id: one.id, change: { status: 'disabled' } }, T0)
    expect(await storage().submitSignup({ signup: newSignup(one.id) }, T0)).toBe('closed')
    expect(await storage().submitSignup({ signup: newSignup(newId(T0)) }, T0)).toBe('closed')
  })

  test('sign-ups expire after 7 days, are purged a day after confirmation, and are removed by erasures', async () => {
    const { teamId } = await audienceStage(storage())
    const form = await storeForm(storage(), teamId)
    const [old, done, failed, erased] = Array.from({ length: 4 }, () => newSignup(form.id))
    for (const signup of [old!, done!, failed!, erased!]) await storage().submitSignup({ signup }, T0)
    await storage().confirmSignup({ id: done!.id, ...visitor }, T0)
    await storage().settleSignup({ id: failed!.id, sent: false }, T0)
    expect(await storage().getSignup({ id: failed!.id }, T0)).toBeUndefined()
    const actor = { kind: 'system', name: 'test', ip: null } as const
    const erasure = { id: newId(T0), teamId, address: erased!.email, actor }
    await storage().beginErasure(erasure, T0)
    while ((await storage().eraseStep({ id: erasure.id }, T0))?.finishedAt === null);
    expect(await storage().getSignup({ id: erased!.id }, T0)).toBeUndefined()
    await storage().purgeSignups({ most: 100 }, T0 + DAY)
    expect(await storage().getSignup({ id: done!.id }, T0)).toBeUndefined()
    expect(await storage().confirmSignup({ id: old!.id, ...visitor }, T0 + 7 * DAY)).toBeUndefined()
    expect(await storage().getSignup({ id: old!.id }, T0 + 7 * DAY)).toMatchObject({ open: false })
    await storage().purgeSignups({ most: 100 }, T0 + 7 * DAY - 1)
    expect(await storage().getSignup({ id: old!.id }, T0)).toBeDefined()
    await storage().purgeSignups({ most: 100 }, T0 + 7 * DAY)
    expect(await storage().getSignup({ id: old!.id }, T0)).toBeUndefined()
  })
}
