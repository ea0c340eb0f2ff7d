/** Finds work for automations: steps that are due, and sent events that start or continue runs. */
import { type Selectable, sql } from 'kysely'
import type { RunStepStatus, StepType } from '../../mail/automation.ts'
import type { EventPayload } from '../../mail/custom-event.ts'
import { type Contact, getContact } from '../audience/contact-rows.ts'
import type { Db } from '../schema.ts'
import { type SentEvent, toSentEvent } from './sent-events.ts'

/** A step of a run that is due or waits for an event. */
export interface OpenStep {
  runId: string
  key: string
  type: StepType
  status: RunStepStatus
  teamId: string
  automationId: string
  versionId: string
  contactId: string
  event: EventPayload
  waits: Record<string, EventPayload>
  /** Set once the email of a step was accepted. Then only the next step remains to be stored. */
  output: Record<string, unknown> | null
}

/** Matches runs that can continue, because neither the run nor its automation was stopped. */
export const canContinue = sql<boolean>`r.status = 'running' and (a.stopped_at is null or r.created_at > a.stopped_at)`

const openSteps = (db: Db) =>
  db
    .selectFrom('automation_run_steps as s')
    .innerJoin('automation_runs as r', 'r.id', 's.run_id')
    .innerJoin('automations as a', 'a.id', 'r.automation_id')
    .select(['s.run_id', 's.key', 's.type', 's.status', 's.output', 's.team_id', 's.due_at'])
    .select(['r.automation_id', 'r.version_id', 'r.contact_id', 'r.event', 'r.waits'])
    .where(canContinue)

type OpenRow = Awaited<ReturnType<ReturnType<typeof openSteps>['execute']>>[number]

const toOpen = (row: Selectable<OpenRow>): OpenStep => ({
  runId: row.run_id,
  key: row.key,
  type: row.type,
  status: row.status,
  teamId: row.team_id,
  automationId: row.automation_id,
  versionId: row.version_id,
  contactId: row.contact_id,
  event: JSON.parse(row.event) as EventPayload,
  waits: JSON.parse(row.waits) as OpenStep['waits'],
  output: row.output === null ? null : (JSON.parse(row.output) as Record<string, unknown>),
})

/** Lists due steps, starting with the most overdue. */
async function dueAutomationSteps(db: Db, { most }: { most: number }, now: number): Promise<OpenStep[]> {
  const rows = await openSteps(db)
    .where('s.due_at', '<=', now)
    .orderBy('s.due_at')
    .orderBy('s.run_id')
    .limit(most)
    .execute()
  return rows.map(toOpen)
}

/** Returns when the next step is due; undefined if no step is waiting. */
async function nextAutomationStep(db: Db): Promise<number | undefined> {
  const row = await db
    .selectFrom('automation_run_steps')
    .select('due_at')
    .where('due_at', 'is not', null)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.due_at ?? undefined
}

/** A sent event, and the automations and runs that it may start or continue. */
export interface PendingEvent {
  event: SentEvent
  /** The contact that the event is about; undefined if no contact has the address. */
  contact: Contact | undefined
  /** Enabled automations that this event triggers. */
  starts: { automationId: string; versionId: string }[]
  /** Steps of the contact's runs that were already waiting for this event when it was sent. */
  waiting: OpenStep[]
}

/** Lists sent events that no automation has handled yet, oldest first. */
async function pendingEvents(db: Db, { most }: { most: number }): Promise<PendingEvent[]> {
  const rows = await db
    .selectFrom('sent_events')
    .selectAll()
    // A literal, because a partial index isn't used for a parameter.
    .where(sql<boolean>`pending = 1`)
    .orderBy('id')
    .limit(most)
    .execute()
  const work: PendingEvent[] = []
  for (const event of rows.map(toSentEvent)) {
    const { teamId, name, contactId, email } = event
    const ref = contactId === null ? { email } : { id: contactId }
    const contact = await getContact(db, { teamId, ref })
    const starts = await db
      .selectFrom('automation_triggers as t')
      .innerJoin('automations as a', 'a.id', 't.automation_id')
      .select(['a.id', 'a.version_id'])
      .where('t.team_id', '=', teamId)
      .where('t.event_name', '=', name)
      .where('a.status', '=', 'enabled')
      .where('a.deleted_at', 'is', null)
      .execute()
    const waiting = contact
      ? await openSteps(db)
          .where('s.team_id', '=', teamId)
          .where('s.event_name', '=', name)
          .where('s.contact_id', '=', contact.id)
          .where('s.created_at', '<=', event.createdAt)
          .execute()
      : []
    work.push({
      event,
      contact,
      waiting: waiting.map(toOpen),
      starts: starts.map((one) => ({ automationId: one.id, versionId: one.version_id })),
    })
  }
  return work
}

export const methods = { reads: { dueAutomationSteps, nextAutomationStep, pendingEvents } }
