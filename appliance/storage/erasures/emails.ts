/** Erases an address from emails and all related data. */
import { sql } from 'kysely'
import { isQueued } from '../deliveries.ts'
import { selectRequestIds } from '../logs.ts'
import { dropErasedDeliveries } from '../queue/drop.ts'
import type { Db } from '../schema.ts'
import type { PhaseResult, ErasureContext } from './scan.ts'

/** Number of queued deliveries examined in one step. Dropping one takes about five statements. */
const DELIVERIES = 200

/** Maximum number of emails examined in one step, and of their recipients. */
const EMAILS = 100

const RECIPIENTS = 2000

/**
 * Limits on the emails of one step: number of rows of recipients, events and attempts, and bytes of messages. At least
 * one email is examined.
 */
const BELONGINGS = 300

const MOST_BYTES = 2_000_000

/**
 * Matches recipients with the address. SQLite's `lower` handles only ASCII, so the address is also compared as written.
 */
const isAddress = (column: string, { address }: ErasureContext) =>
  sql<boolean>`(${sql.ref(column)} in (${address}, ${address.toLowerCase()}) or lower(${sql.ref(column)}) = ${address.toLowerCase()})`

/** Drops queued deliveries to the address. Searches by domain, because that has an index. */
export async function queuePhase(
  db: Db,
  scan: ErasureContext,
  after: string,
  now: number,
): Promise<PhaseResult> {
  const rows = await db
    .selectFrom('deliveries')
    .select(['id', 'team_id'])
    .select(isAddress('recipient', scan).as('same'))
    .where('domain', '=', scan.address.slice(scan.address.lastIndexOf('@') + 1).toLowerCase())
    .where('id', '>', after)
    .where(isQueued)
    .orderBy('id')
    .limit(DELIVERIES)
    .execute()
  const ids = rows.filter((row) => Boolean(row.same) && row.team_id === scan.teamId).map(({ id }) => id)
  if (scan.write && ids.length > 0) await dropErasedDeliveries(db, ids, scan.pseudonym, now)
  return { counts: { deliveries: ids.length }, next: rows.length < DELIVERIES ? null : rows.at(-1)!.id }
}

const COLUMNS = ['to_header', 'cc_header', 'bcc_header', 'reply_to', 'headers'] as const

async function emailsAfter(db: Db, { teamId }: ErasureContext, after: string) {
  return db
    .selectFrom('emails')
    .select(['id', 'size', ...COLUMNS])
    .where('team_id', '=', teamId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(EMAILS)
    .execute()
}

type EmailRow = Awaited<ReturnType<typeof emailsAfter>>[number]

const groupCount = async (
  db: Db,
  table: 'deliveries' | 'events' | 'attempts',
  ids: string[],
): Promise<Map<string, number>> => {
  const rows = await db
    .selectFrom(table)
    .select('email_id')
    .select((count) => count.fn.countAll<number>().as('count'))
    .where('email_id', 'in', ids)
    .groupBy('email_id')
    .execute()
  return new Map(rows.flatMap((row) => (row.email_id === null ? [] : [[row.email_id, Number(row.count)]])))
}

/** Returns the first rows, as long as their total `worth` is at most `most`, but at least one row. */
function upTo<T>(rows: T[], most: number, worth: (row: T) => number): T[] {
  let sum = 0
  const end = rows.findIndex((row, at) => (sum += worth(row)) > most && at > 0)
  return end < 0 ? rows : rows.slice(0, end)
}

/** Finds emails that go to the address or contain it, and erases it from them. */
export async function emailsPhase(
  db: Db,
  scan: ErasureContext,
  after: string,
  now: number,
): Promise<PhaseResult> {
  const listed = await emailsAfter(db, scan, after)
  if (listed.length === 0) return { counts: {}, next: null }
  const counts = await groupCount(
    db,
    'deliveries',
    listed.map(({ id }) => id),
  )
  const looked = upTo(listed, RECIPIENTS, ({ id }) => counts.get(id) ?? 0)
  const recipients = await recipientsOf(
    db,
    scan,
    looked.map(({ id }) => id),
  )
  const named = looked.filter(
    (row) => recipients.has(row.id) || scan.eraser.finds(COLUMNS.map((column) => row[column]).join('\n')),
  )
  const chosen = await affordable(db, named, counts)
  const total: Required<Pick<PhaseResult, 'counts' | 'files'>> = { counts: {}, files: [] }
  for (const row of chosen) {
    const part = await eraseEmail(db, scan, row, recipients.get(row.id) ?? [], now)
    for (const [kind, count] of Object.entries(part.counts) as [keyof PhaseResult['counts'], number][])
      total.counts[kind] = (total.counts[kind] ?? 0) + count
    total.files.push(...(part.files ?? []))
  }
  const whole = chosen.length === named.length
  const last = whole ? looked.at(-1)!.id : chosen.at(-1)!.id
  const next = whole && looked.length === listed.length && listed.length < EMAILS ? null : last
  return { ...total, next }
}

async function affordable(db: Db, named: EmailRow[], recipients: Map<string, number>): Promise<EmailRow[]> {
  if (named.length === 0) return []
  const ids = named.map(({ id }) => id)
  const events = await groupCount(db, 'events', ids)
  const attempts = await groupCount(db, 'attempts', ids)
  const rows = upTo(
    named,
    BELONGINGS,
    ({ id }) => (recipients.get(id) ?? 0) + (events.get(id) ?? 0) + (attempts.get(id) ?? 0),
  )
  return upTo(rows, MOST_BYTES, ({ size }) => size)
}

/** Returns the IDs of the address's recipient rows, by email. */
async function recipientsOf(
  db: Db,
  scan: ErasureContext,
  emailIds: string[],
): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom('deliveries')
    .select(['id', 'email_id'])
    .where('email_id', 'in', emailIds)
    .where(isAddress('recipient', scan))
    .execute()
  return new Map(
    [...Map.groupBy(rows, (row) => row.email_id)].map(([id, same]) => [id, same.map((row) => row.id)]),
  )
}

async function eraseEmail(
  db: Db,
  scan: ErasureContext,
  row: EmailRow,
  deliveryIds: string[],
  now: number,
): Promise<Omit<PhaseResult, 'next'>> {
  const events = await eraseEvents(db, scan, row.id, deliveryIds)
  const attempts = await eraseAttempts(db, scan, row.id, deliveryIds)
  const reports = await reportsAbout(db, row.id, deliveryIds)
  // Drop deliveries that were accepted after the queue was examined, because nothing may be sent to the pseudonym.
  const deliveries = scan.write ? await dropErasedDeliveries(db, deliveryIds, scan.pseudonym, now) : 0
  if (scan.write) {
    await hideHeaders(db, scan, row)
    await hideRecipients(db, scan, row.id, deliveryIds, now)
  }
  const bodies = { bodies: 0, bodies_later: 0, files: [] as string[] }
  // Erase the bodies of sent reports, too, because they quote the address.
  for (const id of [row.id, ...reports]) await eraseBody(db, scan, id, bodies)
  const { files, ...gone } = bodies
  return {
    counts: { deliveries, emails: 1, recipients: deliveryIds.length, events, attempts, ...gone },
    files,
  }
}

async function hideHeaders(db: Db, { eraser }: ErasureContext, row: EmailRow): Promise<void> {
  const hidden = COLUMNS.map((column) => [column, JSON.stringify(eraser.hideIn(JSON.parse(row[column])))])
  await db
    .updateTable('emails')
    .set(Object.fromEntries(hidden) as Partial<Record<(typeof COLUMNS)[number], string>>)
    .where('id', '=', row.id)
    .execute()
}

async function hideRecipients(
  db: Db,
  { eraser, pseudonym }: ErasureContext,
  emailId: string,
  deliveryIds: string[],
  now: number,
): Promise<void> {
  for (const id of deliveryIds) {
    const { cause } = await db
      .selectFrom('deliveries')
      .select('cause')
      .where('email_id', '=', emailId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const hidden = cause === null ? null : JSON.stringify(eraser.hideIn(JSON.parse(cause) as unknown, true))
    await db
      .updateTable('deliveries')
      .set({ recipient: pseudonym, orcpt: null, cause: hidden })
      .where('email_id', '=', emailId)
      .where('id', '=', id)
      .execute()
    // Drop due reports, because they would contain the address.
    await db
      .updateTable('reports')
      .set({ done_at: now })
      .where('email_id', '=', emailId)
      .where('delivery_id', '=', id)
      .where('done_at', 'is', null)
      .execute()
  }
}

async function reportsAbout(db: Db, emailId: string, deliveryIds: string[]): Promise<string[]> {
  if (deliveryIds.length === 0) return []
  const rows = await db
    .selectFrom('reports')
    .select('report_id')
    .where('email_id', '=', emailId)
    .where('delivery_id', 'in', deliveryIds)
    .where('report_id', 'is not', null)
    .execute()
  return [...new Set(rows.flatMap(({ report_id }) => report_id ?? []))]
}

/**
 * Deletes a body or, if the email is still queued for other recipients, marks the body for deletion once the email is
 * final.
 */
async function eraseBody(
  db: Db,
  { write, teamId }: ErasureContext,
  emailId: string,
  found: { bodies: number; bodies_later: number; files: string[] },
): Promise<void> {
  const row = await db
    .selectFrom('messages as m')
    .select(sql<number>`(m.body is null)`.as('in_file'))
    .select(
      sql<number>`(exists (select 1 from deliveries d where d.email_id = m.email_id and d.expires_at is not null)
        or exists (select 1 from reports r where r.email_id = m.email_id and r.done_at is null))`.as(
        'needed',
      ),
    )
    .where('m.email_id', '=', emailId)
    .executeTakeFirst()
  const needed = Boolean(row?.needed)
  if (row && !needed) {
    found.bodies += 1
    if (row.in_file) found.files.push(emailId)
  }
  if (needed) found.bodies_later += 1
  if (!write) return
  await db
    .updateTable('messages')
    .set({ content: 'row', html: null, text: null })
    .where('email_id', '=', emailId)
    .execute()
  await hideRequests(db, emailId)
  if (needed) {
    await db
      .insertInto('bodies_due')
      .values({ email_id: emailId, team_id: teamId, erased: 1 })
      .onConflict((conflict) => conflict.column('email_id').doUpdateSet({ erased: 1 }))
      .execute()
    return
  }
  await db.deleteFrom('messages').where('email_id', '=', emailId).execute()
  await db
    .updateTable('emails')
    .set({ subject: '', headers: '[]', attachments: '[]' })
    .where('id', '=', emailId)
    .execute()
}

/** Removes the body of an email's logged request, which contains the content. */
async function hideRequests(db: Db, emailId: string): Promise<void> {
  await db
    .updateTable('request_logs')
    .set({ request_body: null })
    .where('id', 'in', selectRequestIds([emailId]))
    .execute()
}

interface Opened {
  open?: { ipAddress: string; userAgent: string }
  click?: { ipAddress: string; userAgent: string; link: string }
}

/**
 * Removes the data about who opened or clicked. For an email to several recipients, this can't be attributed to one
 * person, so the data is removed for all of them.
 */
function withoutReader(data: object): object {
  const { open, click, ...rest } = data as Opened
  return {
    ...rest,
    ...(open ? { open: { ...open, ipAddress: '', userAgent: '' } } : {}),
    ...(click ? { click: { ...click, ipAddress: '', userAgent: '', link: '' } } : {}),
  }
}

async function eraseEvents(
  db: Db,
  scan: ErasureContext,
  emailId: string,
  deliveryIds: string[],
): Promise<number> {
  const rows = await db
    .selectFrom('events')
    .select(['seq', 'delivery_id', 'data'])
    .where('email_id', '=', emailId)
    .execute()
  let count = 0
  for (const { seq, delivery_id: deliveryId, data } of rows) {
    const theirs = deliveryId !== null && deliveryIds.includes(deliveryId)
    const hidden = JSON.stringify(scan.eraser.hideIn(withoutReader(JSON.parse(data) as object), theirs))
    if (hidden === data) continue
    count += 1
    if (scan.write) await db.updateTable('events').set({ data: hidden }).where('seq', '=', seq).execute()
  }
  return count
}

async function eraseAttempts(
  db: Db,
  scan: ErasureContext,
  emailId: string,
  deliveryIds: string[],
): Promise<number> {
  const rows = await db
    .selectFrom('attempts')
    .select(['id', 'delivery_ids', 'transcript'])
    .where('email_id', '=', emailId)
    .execute()
  let count = 0
  for (const { id, delivery_ids: ids, transcript } of rows) {
    const theirs = (JSON.parse(ids) as string[]).some((one) => deliveryIds.includes(one))
    if (!theirs && !scan.eraser.finds(transcript)) continue
    const hidden = JSON.stringify(scan.eraser.hideIn(JSON.parse(transcript) as object, theirs))
    if (hidden === transcript) continue
    count += 1
    if (scan.write)
      await db.updateTable('attempts').set({ transcript: hidden }).where('id', '=', id).execute()
  }
  return count
}
