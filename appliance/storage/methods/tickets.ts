import type { Kysely, Selectable } from 'kysely'
import type { Tables, TicketsTable } from '../schema.ts'
import type { Ticket, TicketKind, TicketStorage } from '../storage.ts'

type Db = Kysely<Tables>
type Args<M extends keyof TicketStorage> = Parameters<TicketStorage[M]>[0]

const toTicket = (row: Selectable<TicketsTable>): Ticket => ({
  tokenHash: row.token_hash,
  kind: row.kind,
  userId: row.user_id,
  data: JSON.parse(row.data),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
})

/** See `TicketStorage.createTicket`. */
export async function createTicket(db: Db, ticket: Ticket): Promise<void> {
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

/** See `TicketStorage.peekTicket`. */
export async function peekTicket(
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

/** See `TicketStorage.takeTicket`. The removal decides who has it, not a look beforehand. */
export async function takeTicket(
  db: Db,
  { tokenHash, kind }: Args<'takeTicket'>,
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

/** See `TicketStorage.tryTicket`. */
export async function tryTicket(
  db: Db,
  { tokenHash, kind, most }: Args<'tryTicket'>,
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

/** See `TicketStorage.dropTickets`. */
export async function dropTickets(db: Db, { userId, kinds }: Args<'dropTickets'>): Promise<number> {
  const deleted = await db
    .deleteFrom('tickets')
    .where('user_id', '=', userId)
    .where('kind', 'in', kinds)
    .executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

/** See `TicketStorage.purgeTickets`. */
export async function purgeTickets(db: Db, _args: object, now: number): Promise<number> {
  const deleted = await db.deleteFrom('tickets').where('expires_at', '<=', now).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}
