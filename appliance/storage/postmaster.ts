/** The mailbox for mail to postmaster and abuse, and its forwarding. */
import { type Selectable, sql } from 'kysely'
import { type Page, type PageArgs, readPage } from './lists.ts'
import {
  ENVELOPE_COLUMNS,
  type ReceivedMessage,
  ROW_BYTES,
  toMessage,
  toRow,
  type MessageBytes,
} from './received.ts'
import type { Db, PostmasterMessagesTable } from './schema.ts'

/** What happens to a postmaster message in addition to being stored. */
export type Forwarding =
  { state: 'off' | 'due' } | { state: 'done'; emailId: string } | { state: 'skipped'; reason: string }

/** A message to postmaster or abuse. */
export interface PostmasterMessage extends ReceivedMessage {
  forwarding: Forwarding
}

/** Maximum number of messages and bytes in the postmaster mailbox. Above it, the oldest messages are removed. */
export interface PostmasterLimits {
  messages: number
  bytes: number
}

async function keepPostmaster(
  db: Db,
  {
    message,
    forward,
    limits,
  }: { message: ReceivedMessage & MessageBytes; forward: 'off' | 'due'; limits: PostmasterLimits },
): Promise<void> {
  await db
    .insertInto('postmaster_messages')
    .values({ ...toRow(message), body: message.bytes, forward, forwarded_as: null, reason: null })
    .execute()
  const rows = await db
    .selectFrom('postmaster_messages')
    .select(['id', sql<number>`length(body)`.as('bytes')])
    .orderBy('id', 'desc')
    .execute()
  let sum = 0
  const over = rows.filter(
    ({ bytes }, at) => (sum += bytes + ROW_BYTES) > limits.bytes || at >= limits.messages,
  )
  if (over.length === 0) return
  await db
    .deleteFrom('postmaster_messages')
    .where(
      'id',
      'in',
      over.map(({ id }) => id),
    )
    .execute()
}

const FORWARD_COLUMNS = [...ENVELOPE_COLUMNS, 'forward', 'forwarded_as', 'reason'] as const

const toPostmaster = (
  row: Pick<Selectable<PostmasterMessagesTable>, (typeof FORWARD_COLUMNS)[number]>,
): PostmasterMessage => ({ ...toMessage(row), forwarding: toForwarding(row) })

function toForwarding({
  forward,
  forwarded_as: emailId,
  reason,
}: Pick<Selectable<PostmasterMessagesTable>, 'forward' | 'forwarded_as' | 'reason'>): Forwarding {
  if (forward === 'done') return { state: 'done', emailId: emailId ?? '' }
  return forward === 'skipped' ? { state: 'skipped', reason: reason ?? '' } : { state: forward }
}

/** Lists postmaster messages, newest first. */
async function listPostmaster(db: Db, args: Omit<PageArgs, 'teamId'>): Promise<Page<PostmasterMessage>> {
  return readPage(db.selectFrom('postmaster_messages').select(FORWARD_COLUMNS), args, toPostmaster)
}

async function getPostmaster(db: Db, { id }: { id: string }): Promise<Uint8Array | undefined> {
  const found = db.selectFrom('postmaster_messages').select('body').where('id', '=', id)
  return (await found.executeTakeFirst())?.body
}

/** Returns the oldest message that is due to be forwarded. */
async function duePostmaster(db: Db): Promise<(PostmasterMessage & MessageBytes) | undefined> {
  const row = await db
    .selectFrom('postmaster_messages')
    .select([...FORWARD_COLUMNS, 'body'])
    .where('forward', '=', 'due')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row && { ...toPostmaster(row), bytes: row.body }
}

/** Marks a message as no longer due, if it is due. */
async function settlePostmaster(
  db: Db,
  { id, forwarding }: { id: string; forwarding: Exclude<Forwarding, { state: 'off' | 'due' }> },
): Promise<void> {
  const { state } = forwarding
  await db
    .updateTable('postmaster_messages')
    .set({
      forward: state,
      forwarded_as: state === 'done' ? forwarding.emailId : null,
      reason: state === 'skipped' ? forwarding.reason : null,
    })
    .where('id', '=', id)
    .where('forward', '=', 'due')
    .execute()
}

export const methods = {
  reads: { listPostmaster, getPostmaster, duePostmaster },
  writes: { keepPostmaster, settlePostmaster },
}
