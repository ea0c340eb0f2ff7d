/** Sign-ups through forms, which are pending until the person confirms the address. */
import { type Selectable, sql } from 'kysely'
import type { ConsentContext, PropertyValue } from '../../mail/audience.ts'
import { CONFIRMATION_LIFETIME_MS, FORM_LIMITS, type Form } from '../../mail/form.ts'
import { newId } from '../../mail/ids.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import type { PageLanguage } from '../../mail/unsubscribe-page.ts'
import type { Db } from '../schema.ts'
import { methods as suppressions } from '../suppressions.ts'
import { recordConsents } from './consents.ts'
import { getContact } from './contact-rows.ts'
import { methods as contacts } from './contacts.ts'
import { toForm } from './forms.ts'
import { getKeptOptOuts } from './opt-outs.ts'
import type { FormSignupsTable } from './tables.ts'

/** The values that a person entered besides the address. Property values are by label. */
export interface SignupValues {
  firstName?: string | undefined
  lastName?: string | undefined
  properties?: Record<string, PropertyValue> | undefined
}

export interface NewSignup {
  id: string
  formId: string
  /** The domain in A-labels. */
  email: string
  given: SignupValues
  language: PageLanguage
  /** The texts that the person saw. */
  wording: string
}

export interface Signup extends NewSignup {
  teamId: string
  /** Whether the link in the confirmation email can still confirm the sign-up. */
  open: boolean
  /** Unix milliseconds. */
  createdAt: number
}

const HOUR = 3_600_000
const DAY = 86_400_000

const toSignup = (row: Selectable<FormSignupsTable>, now: number): Signup => ({
  id: row.id,
  teamId: row.team_id,
  formId: row.form_id,
  email: row.email,
  given: JSON.parse(row.given) as SignupValues,
  language: row.language,
  wording: row.wording,
  open: row.state !== 'confirmed' && row.created_at > now - CONFIRMATION_LIFETIME_MS,
  createdAt: row.created_at,
})

/**
 * Accepts a sign-up. `taken` doesn't reveal whether mail is sent: it is also returned if the address is suppressed or
 * has reached its limit of confirmation emails, and then only the count changes. `full`: the form has reached its
 * limit. `closed`: the form doesn't accept sign-ups.
 */
async function submitSignup(
  db: Db,
  { signup }: { signup: NewSignup },
  now: number,
): Promise<'taken' | 'full' | 'closed'> {
  const { id, formId, email, given, language, wording } = signup
  // This update also locks the row, so that two nodes count one after the other.
  const form = await db
    .updateTable('forms')
    .set({ submitted: sql`submitted + 1` })
    .where('id', '=', formId)
    .where('enabled', '=', 1)
    .returning('team_id')
    .executeTakeFirst()
  if (!form) return 'closed'
  const teamId = form.team_id
  if ((await countOf(db, { formId, since: now - HOUR })) >= FORM_LIMITS.formPerHour) return 'full'
  const key = toSuppressionKey(email)
  const found = await suppressions.reads.findSuppressed(db, { teamId, addresses: [email] })
  if (found.length > 0 || !(await mayMail(db, teamId, key, now))) return 'taken'
  await db
    .insertInto('form_signups')
    .values({
      id,
      team_id: teamId,
      form_id: formId,
      email,
      address_key: key,
      given: JSON.stringify(given),
      language,
      wording,
      state: 'due',
      created_at: now,
    })
    .execute()
  return 'taken'
}

async function countOf(db: Db, { formId, since }: { formId: string; since: number }): Promise<number> {
  const { n } = await db
    .selectFrom('form_signups')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('form_id', '=', formId)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(n)
}

/** Whether a team may send an address another confirmation email. */
async function mayMail(db: Db, teamId: string, key: string, now: number): Promise<boolean> {
  const rows = await db
    .selectFrom('form_signups')
    .select('created_at')
    .where('team_id', '=', teamId)
    .where('address_key', '=', key)
    .where('created_at', '>', now - DAY)
    .execute()
  const lately = rows.filter((row) => row.created_at > now - HOUR)
  return rows.length < FORM_LIMITS.addressPerDay && lately.length < FORM_LIMITS.addressPerHour
}

async function getSignup(db: Db, { id }: { id: string }, now: number): Promise<Signup | undefined> {
  const row = await db.selectFrom('form_signups').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toSignup(row, now)
}

/** Lists sign-ups whose confirmation email still has to be sent, with their forms, oldest first. */
async function dueSignups(
  db: Db,
  { after, most }: { after: string; most: number },
  now: number,
): Promise<{ signup: Signup; form: Form }[]> {
  const rows = await db
    .selectFrom('form_signups')
    .selectAll()
    .where('state', '=', 'due')
    .where('id', '>', after)
    .orderBy('id')
    .limit(most)
    .execute()
  if (rows.length === 0) return []
  const ids = [...new Set(rows.map((row) => row.form_id))]
  const forms = await db.selectFrom('forms').selectAll().where('id', 'in', ids).execute()
  const byId = new Map(forms.map((row) => [row.id, toForm(row)]))
  return rows.flatMap((row) => {
    const form = byId.get(row.form_id)
    return form ? [{ signup: toSignup(row, now), form }] : []
  })
}

/** Records that the confirmation email was sent. If it can't be sent (`sent` is false), removes the sign-up. */
async function settleSignup(db: Db, { id, sent }: { id: string; sent: boolean }): Promise<void> {
  if (sent)
    await db
      .updateTable('form_signups')
      .set({ state: 'mailed' })
      .where('id', '=', id)
      .where('state', '=', 'due')
      .execute()
  else await db.deleteFrom('form_signups').where('id', '=', id).where('state', '=', 'due').execute()
}

/**
 * Confirms a sign-up once: creates or changes the contact, removes its opt-outs, and records the consent. Returns
 * undefined if it was already confirmed or is too old.
 */
async function confirmSignup(
  db: Db,
  { id, ip, userAgent }: { id: string; ip: string; userAgent: string | null },
  now: number,
): Promise<Form | undefined> {
  const row = await db
    .updateTable('form_signups')
    .set({ state: 'confirmed' })
    .where('id', '=', id)
    .where('state', '!=', 'confirmed')
    .where('created_at', '>', now - CONFIRMATION_LIFETIME_MS)
    .returningAll()
    .executeTakeFirst()
  if (!row) return undefined
  await db.updateTable('form_signups').set({ given: '{}', wording: '' }).where('id', '=', id).execute()
  const counted = await db
    .updateTable('forms')
    .set({ confirmed: sql`confirmed + 1` })
    .where('id', '=', row.form_id)
    .returningAll()
    .executeTakeFirstOrThrow()
  const form = toForm(counted)
  const act: ConsentContext = {
    origin: 'person',
    via: 'form',
    source: form.id,
    ip,
    userAgent,
    wording: row.wording,
    lifts: true,
  }
  await subscribe(db, { signup: toSignup(row, now), form, act }, now)
  return form
}

/** Stores a confirmed sign-up. Skips segments and topics that were deleted meanwhile. */
async function subscribe(
  db: Db,
  { signup, form, act }: { signup: Signup; form: Form; act: ConsentContext },
  now: number,
): Promise<void> {
  const { teamId, email, given } = signup
  const { segmentIds, topicIds } = await existingRefs(db, form)
  const before = await getContact(db, { teamId, ref: { email } })
  const kept = before ? undefined : await getKeptOptOuts(db, teamId, email)
  const topics = topicIds.map((topic) => ({ id: topic, subscription: 'opt_in' as const }))
  const contact = { ...given, id: newId(now), teamId, email, segmentIds, topics, unsubscribed: false }
  const saved = await contacts.writes.saveContact(db, { contact, act }, now)
  if (!('contact' in saved)) throw new Error(`A contact could not be saved: ${saved.kind}.`)
  // If the contact's opt-out was removed, that is already in the log. Otherwise, log the confirmation.
  if (before?.optOut) return
  const was = before ? 'opt_in' : kept?.ofAll ? 'opt_out' : null
  await recordConsents(db, saved.contact, [{ scope: '', was, subscription: 'opt_in' }], act, now)
}

/** Returns those segments and topics of a form that people can still be added to. */
async function existingRefs(
  db: Db,
  { teamId, segmentIds, topicIds }: Form,
): Promise<{ segmentIds: string[]; topicIds: string[] }> {
  const ids = async (table: 'segments' | 'topics', wanted: string[]): Promise<string[]> => {
    if (wanted.length === 0) return []
    let query = db
      .selectFrom(table)
      .select('id')
      .where('team_id', '=', teamId)
      .where('id', 'in', wanted)
      .where('deleted_at', 'is', null)
    if (table === 'segments') query = query.where(sql<boolean>`filter is null`)
    return (await query.execute()).map(({ id }) => id)
  }
  return { segmentIds: await ids('segments', segmentIds), topicIds: await ids('topics', topicIds) }
}

/** Removes sign-ups that can't be confirmed anymore and, after a day, confirmed ones. Returns their number. */
async function purgeSignups(db: Db, { most }: { most: number }, now: number): Promise<number> {
  let removed = 0
  for (const [state, age] of [
    ['due', CONFIRMATION_LIFETIME_MS],
    ['mailed', CONFIRMATION_LIFETIME_MS],
    ['confirmed', DAY],
  ] as const) {
    const old = db
      .selectFrom('form_signups')
      .select('id')
      .where('state', '=', state)
      .where('created_at', '<=', now - age)
      .limit(most)
    const { numDeletedRows } = await db
      .deleteFrom('form_signups')
      .where('id', 'in', old)
      .executeTakeFirstOrThrow()
    removed += Number(numDeletedRows)
  }
  return removed
}

export const methods = {
  reads: { getSignup, dueSignups },
  writes: { submitSignup, settleSignup, confirmSignup, purgeSignups },
}
