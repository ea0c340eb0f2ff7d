/** Received mail that names an erased address: it is removed, as a part of it cannot be hidden without reading it. */
import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { firstTeam } from '../teams.ts'
import type { Part, Scan } from './scan.ts'

/** Rows looked at in one step, and bytes of them that are searched; one row at least. */
const ROWS = 200

const BYTES = 2_000_000

interface Candidate {
  id: string
  bytes: number
}

/** As many rows as are worth searching in one step. */
function affordable<T extends Candidate>(rows: T[]): T[] {
  let sum = 0
  const end = rows.findIndex(({ bytes }, at) => (sum += bytes) > BYTES && at > 0)
  return end < 0 ? rows : rows.slice(0, end)
}

const named = (
  { eraser }: Scan,
  row: { mail_from: string; rcpt_to: string; body: Uint8Array | null },
): boolean =>
  eraser.finds(`${row.mail_from}\n${row.rcpt_to}\n${row.body ? Buffer.from(row.body).toString('utf8') : ''}`)

const nextOf = (listed: Candidate[], looked: Candidate[]): string | null =>
  looked.length === listed.length && listed.length < ROWS ? null : looked.at(-1)!.id

/** Messages to return paths: those with the address, and those about an email to it, however they are encoded. */
export async function returnedPhase(db: Db, scan: Scan, after: string): Promise<Part> {
  const recipients = [scan.address.toLowerCase(), scan.pseudonym]
  const listed = await db
    .selectFrom('returned_messages as m')
    .select(['m.id', sql<number>`coalesce(length(m.body), 0)`.as('bytes')])
    .select(
      sql<number>`exists (select 1 from deliveries d
        where d.email_id = m.email_id and lower(d.recipient) in (${sql.join(recipients)}))`.as('about'),
    )
    .where('m.team_id', '=', scan.teamId)
    .where('m.id', '>', after)
    .orderBy('m.id')
    .limit(ROWS)
    .execute()
  const looked = affordable(listed)
  if (looked.length === 0) return { counts: {}, next: null }
  const rows = await db
    .selectFrom('returned_messages')
    .select(['id', 'mail_from', 'rcpt_to', 'body'])
    .where(
      'id',
      'in',
      looked.map(({ id }) => id),
    )
    .execute()
  const about = new Set(looked.filter((row) => Boolean(row.about)).map(({ id }) => id))
  const ids = rows.filter((row) => about.has(row.id) || named(scan, row)).map(({ id }) => id)
  if (scan.write && ids.length > 0) await db.deleteFrom('returned_messages').where('id', 'in', ids).execute()
  return { counts: { received_messages: ids.length }, next: nextOf(listed, looked) }
}

/** Messages to postmaster: they belong to the first team, which runs the appliance. */
export async function postmasterPhase(db: Db, scan: Scan, after: string): Promise<Part> {
  const first = await firstTeam(db)
  if (first?.id !== scan.teamId) return { counts: {}, next: null }
  const listed = await db
    .selectFrom('postmaster_messages')
    .select(['id', sql<number>`length(body)`.as('bytes')])
    .where('id', '>', after)
    .orderBy('id')
    .limit(ROWS)
    .execute()
  const looked = affordable(listed)
  if (looked.length === 0) return { counts: {}, next: null }
  const rows = await db
    .selectFrom('postmaster_messages')
    .select(['id', 'mail_from', 'rcpt_to', 'body'])
    .where(
      'id',
      'in',
      looked.map(({ id }) => id),
    )
    .execute()
  const ids = rows.filter((row) => named(scan, row)).map(({ id }) => id)
  if (scan.write && ids.length > 0)
    await db.deleteFrom('postmaster_messages').where('id', 'in', ids).execute()
  return { counts: { received_messages: ids.length }, next: nextOf(listed, looked) }
}
