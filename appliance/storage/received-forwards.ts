/** Forwards of received emails. */
import type { Db } from './schema.ts'

/** The result of forwarding to one address. */
export type ForwardResult = { state: 'sent'; emailId: string } | { state: 'skipped'; reason: string }

/** A received email's forward to one address. */
export type ReceivedForward = { to: string } & ({ state: 'pending' } | ForwardResult)

/** Finds the oldest pending forward; undefined if there is none. */
async function nextForward(db: Db): Promise<{ teamId: string; receivedId: string; to: string } | undefined> {
  const row = await db
    .selectFrom('received_forwards as f')
    .innerJoin('received_emails as r', 'r.id', 'f.received_id')
    .select(['r.team_id', 'f.received_id', 'f.recipient'])
    .where('f.state', '=', 'pending')
    .orderBy('f.received_id')
    .orderBy('f.recipient')
    .limit(1)
    .executeTakeFirst()
  return row && { teamId: row.team_id, receivedId: row.received_id, to: row.recipient }
}

/** Stores the result of a forward, if it is pending. */
async function settleForward(
  db: Db,
  { receivedId, to, result }: { receivedId: string; to: string; result: ForwardResult },
): Promise<void> {
  const sent = result.state === 'sent'
  await db
    .updateTable('received_forwards')
    .set({
      state: result.state,
      email_id: sent ? result.emailId : null,
      reason: sent ? null : result.reason,
    })
    .where('received_id', '=', receivedId)
    .where('recipient', '=', to)
    .where('state', '=', 'pending')
    .execute()
}

/** Lists all forwards of a received email, sorted by address. */
async function listForwards(
  db: Db,
  { teamId, receivedId }: { teamId: string; receivedId: string },
): Promise<ReceivedForward[]> {
  const rows = await db
    .selectFrom('received_forwards as f')
    .innerJoin('received_emails as r', 'r.id', 'f.received_id')
    .select(['f.recipient', 'f.state', 'f.email_id', 'f.reason'])
    .where('f.received_id', '=', receivedId)
    .where('r.team_id', '=', teamId)
    .orderBy('f.recipient')
    .execute()
  return rows.map(({ recipient: to, state, email_id: emailId, reason }) => {
    if (state === 'sent') return { to, state, emailId: emailId ?? '' }
    return state === 'skipped' ? { to, state, reason: reason ?? '' } : { to, state }
  })
}

export const methods = {
  reads: { nextForward, listForwards },
  writes: { settleForward },
}
