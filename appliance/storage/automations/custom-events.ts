/** Definitions of custom events: their names, and the schemas of their payloads. */
import type { Selectable } from 'kysely'
import type { EventSchema } from '../../mail/custom-event.ts'
import { type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'
import type { CustomEventsTable } from './tables.ts'

export interface CustomEvent {
  id: string
  teamId: string
  /** The name, which is unique within the team and never changes. */
  name: string
  /** Schema of payloads; null if any payload is valid. */
  schema: EventSchema | null
  createdAt: number
  /** Time of the last change; null if there was none. */
  updatedAt: number | null
}

/** Identifies an event by ID or name. */
export type CustomEventRef = { id: string } | { name: string }

const toEvent = (row: Selectable<CustomEventsTable>): CustomEvent => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  schema: row.schema === null ? null : (JSON.parse(row.schema) as EventSchema),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const toSchema = (schema: EventSchema | null): string | null => schema && JSON.stringify(schema)

/** Lists the events of a team, newest first. */
function listCustomEvents(db: Db, { teamId, ...page }: PageArgs): Promise<Page<CustomEvent>> {
  return readPage(db.selectFrom('custom_events').selectAll().where('team_id', '=', teamId), page, toEvent)
}

async function getCustomEvent(
  db: Db,
  { teamId, ref }: { teamId: string; ref: CustomEventRef },
): Promise<CustomEvent | undefined> {
  const query = db.selectFrom('custom_events').selectAll().where('team_id', '=', teamId)
  const row = await (
    'id' in ref ? query.where('id', '=', ref.id) : query.where('name', '=', ref.name)
  ).executeTakeFirst()
  return row && toEvent(row)
}

/** Stores an event. If two callers use the same name, its unique index decides. */
async function createCustomEvent(
  db: Db,
  { event, most }: { event: CustomEvent; most: number },
): Promise<'created' | 'taken' | 'too_many'> {
  const { n } = await db
    .selectFrom('custom_events')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', event.teamId)
    .executeTakeFirstOrThrow()
  if (Number(n) >= most) return 'too_many'
  const inserted = await db
    .insertInto('custom_events')
    .values({
      id: event.id,
      team_id: event.teamId,
      name: event.name,
      schema: toSchema(event.schema),
      created_at: event.createdAt,
      updated_at: event.updatedAt,
    })
    .onConflict((conflict) => conflict.columns(['team_id', 'name']).doNothing())
    .executeTakeFirstOrThrow()
  return inserted.numInsertedOrUpdatedRows === 0n ? 'taken' : 'created'
}

/** Changes the schema. Returns false if the event doesn't exist. */
async function updateCustomEvent(
  db: Db,
  { teamId, id, schema }: { teamId: string; id: string; schema: EventSchema | null },
  now: number,
): Promise<boolean> {
  const updated = await db
    .updateTable('custom_events')
    .set({ schema: toSchema(schema), updated_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Deletes an event. Instances that were already sent are kept. Returns false if the event doesn't exist. */
async function deleteCustomEvent(db: Db, { teamId, id }: { teamId: string; id: string }): Promise<boolean> {
  const deleted = await db
    .deleteFrom('custom_events')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

export const methods = {
  reads: { listCustomEvents, getCustomEvent },
  writes: { createCustomEvent, updateCustomEvent, deleteCustomEvent },
}
