/** Short-lived, single-use tokens: for a pending second step, a challenge, or a link in an email. */
import type { Selectable } from 'kysely'
import type { Db, TicketsTable } from './schema.ts'
import type { TicketKind } from './values.ts'

/** Anyone with the token can use the ticket. Only the token's SHA-256 is stored. */
export interface Ticket {
  /** SHA-256 of the token, in hex. */
  tokenHash: string
  kind: TicketKind
  /** The user that the ticket belongs to; deleted with the user. Null if there is none yet. */
  userId: string | null
  /** Plain JSON. */
  data: unknown
  createdAt: number
  expiresAt: number
}

const toTicket = (row: Selectable<TicketsTable>): Ticket => ({
  tokenHash: row.token_hash,
  kind: row.kind,
  userId: row.user_id,
  data: JSON.parse(row.data),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
})

async function createTicket(db: Db, ticket: Ticket): Promise<void> {
  await db
    .insertInto('tickets')
    .values({
      token_hash: ticket.tokenHash,
      kind: ticket.kind,
      user_id: ticket.userId,
      data: JSON.stringify(ticket.data),
      created_at: ticket.createdAt,
      expires_at: ticket.expiresAt,
      attempts: 0,
    })
    .execute()
}

/** Finds an unexpired ticket of that kind. */
async function peekTicket(
  db: Db,
  { tokenHash, kind }: { tokenHash: string; kind: TicketKind },
  now: number,
): Promise<Ticket | undefined> {
  const row = await db
    .selectFrom('tickets')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row && toTicket(row)
}

/**
 * Takes a ticket: like `peekTicket`, but also deletes it. Only one of several concurrent calls gets the ticket, because
 * the deletion decides, not an earlier lookup.
 */
async function takeTicket(
  db: Db,
  { tokenHash, kind }: { tokenHash: string; kind: TicketKind },
  now: number,
): Promise<Ticket | undefined> {
  const row = await db
    .deleteFrom('tickets')
    .where('token_hash', '=', tokenHash)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst()
  return row && toTicket(row)
}

/** Finds a ticket like `peekTicket` and counts the attempt. Deletes the ticket on the attempt after `most`. */
async function tryTicket(
  db: Db,
  { tokenHash, kind, most }: { tokenHash: string; kind: TicketKind; most: number },
  now: number,
): Promise<Ticket | undefined> {
  const row = await db
    .updateTable('tickets')
    .set((is) => ({ attempts: is('attempts', '+', 1) }))
    .where('token_hash', '=', tokenHash)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst()
  if (!row) return undefined
  if (row.attempts <= most) return toTicket(row)
  await db.deleteFrom('tickets').where('token_hash', '=', tokenHash).execute()
  return undefined
}

/** Deletes all tickets of these kinds of a user, and returns their number. */
export async function dropTickets(
  db: Db,
  { userId, kinds }: { userId: string; kinds: TicketKind[] },
): Promise<number> {
  const deleted = await db
    .deleteFrom('tickets')
    .where('user_id', '=', userId)
    .where('kind', 'in', kinds)
    .executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

/** Deletes expired tickets and returns their number. */
async function purgeTickets(db: Db, _args: object, now: number): Promise<number> {
  const deleted = await db.deleteFrom('tickets').where('expires_at', '<=', now).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

export const methods = {
  reads: { peekTicket },
  writes: { createTicket, takeTicket, tryTicket, dropTickets, purgeTickets },
}
