/**
 * Starts and continues runs. The effect of a step and its end are stored in one transaction, so that a crash neither
 * repeats nor loses a step.
 */
import type { ConsentContext } from '../../mail/audience.ts'
import {
  LOOP_REASON,
  MAX_RUNS_PER_MINUTE,
  type ReachedStep,
  type RunStatus,
  type StepType,
} from '../../mail/automation.ts'
import type { EventPayload } from '../../mail/custom-event.ts'
import { removeContact } from '../audience/contact-address.ts'
import { type Contact, getContact } from '../audience/contact-rows.ts'
import { type ContactChange, methods as contacts, updateContact } from '../audience/contacts.ts'
import { addToSegment } from '../audience/memberships.ts'
import type { Connection } from '../connection.ts'
import type { Db } from '../schema.ts'
import { stopAutomation } from './automations.ts'
import { canContinue } from './open-steps.ts'
import type { SentEvent } from './sent-events.ts'

/** The result of a step, and the next step. */
export interface StepResult {
  status: 'completed' | 'failed' | 'skipped'
  output: Record<string, unknown> | null
  error: Record<string, unknown> | null
  /** Payloads of all events that the run has waited for; undefined if there is no new one. */
  waits?: Record<string, EventPayload> | undefined
  /** The next step; null if the run ends, with the status `end`. */
  next: ReachedStep | null
  end: Exclude<RunStatus, 'running'>
}

/** The change that a step makes to its contact. */
export type StepEffect =
  { kind: 'update'; change: ContactChange } | { kind: 'delete' } | { kind: 'segment'; segmentId: string }

/** A run to start. */
export interface NewRun {
  id: string
  automationId: string
  /** ID of the automation's version, which the run keeps. */
  versionId: string
  trigger: string
  next: ReachedStep | null
}

/**
 * Starts the runs of a sent event and continues those that waited for it, once. Creates the event's contact if a run
 * begins. Stops an automation that begins too many runs for one contact.
 */
async function takeSentEvent(
  db: Db,
  {
    event,
    contactId,
    runs,
    resumed,
    act,
  }: {
    event: SentEvent
    /** ID for the contact if it doesn't exist yet. */
    contactId: string
    runs: NewRun[]
    resumed: { runId: string; key: string; result: StepResult }[]
    act: ConsentContext
  },
  now: number,
): Promise<boolean> {
  const { id, teamId } = event
  const taken = await db
    .updateTable('sent_events')
    .set({ pending: 0 })
    .where('id', '=', id)
    .where('pending', '=', 1)
    .executeTakeFirstOrThrow()
  if (taken.numUpdatedRows === 0n) return false
  for (const { runId, key, result } of resumed) await endStep(db, { runId, key, result }, now)
  if (runs.length === 0) return true
  const contact = await contactFor(db, event, contactId, act, now)
  // The event has the ID of a contact that was deleted.
  if (!contact) return true
  await db.updateTable('sent_events').set({ contact_id: contact.id }).where('id', '=', id).execute()
  for (const run of runs) await beginRun(db, { teamId, event, contactId: contact.id, run }, now)
  return true
}

async function contactFor(
  db: Db,
  { teamId, contactId, email }: SentEvent,
  fresh: string,
  act: ConsentContext,
  now: number,
): Promise<Contact | undefined> {
  if (contactId !== null) return getContact(db, { teamId, ref: { id: contactId } })
  const contact = { id: fresh, teamId, email, segmentIds: [], topics: [] }
  const saved = await contacts.writes.saveContact(db, { contact, act }, now)
  return 'contact' in saved ? saved.contact : undefined
}

async function beginRun(
  db: Db,
  { teamId, event, contactId, run }: { teamId: string; event: SentEvent; contactId: string; run: NewRun },
  now: number,
): Promise<void> {
  const { id, automationId, versionId, trigger, next } = run
  const automation = await db
    .selectFrom('automations')
    .select('id')
    .where('id', '=', automationId)
    .where('status', '=', 'enabled')
    .executeTakeFirst()
  if (!automation) return
  const { n } = await db
    .selectFrom('automation_runs')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', teamId)
    .where('contact_id', '=', contactId)
    .where('automation_id', '=', automationId)
    .where('created_at', '>', now - 60_000)
    .executeTakeFirstOrThrow()
  if (Number(n) >= MAX_RUNS_PER_MINUTE) {
    await stopAutomation(db, { id: automationId, teamId, reason: LOOP_REASON }, now)
    return
  }
  await db
    .insertInto('automation_runs')
    .values({
      id,
      team_id: teamId,
      automation_id: automationId,
      version_id: versionId,
      contact_id: contactId,
      event_name: event.name,
      event: JSON.stringify(event.payload),
      waits: '{}',
      created_at: now,
      ...(next ? { status: 'running', completed_at: null } : { status: 'completed', completed_at: now }),
    })
    .execute()
  await insertStep(db, { runId: id, teamId, contactId }, { key: trigger, type: 'trigger', next: null }, now)
  if (next)
    await insertStep(db, { runId: id, teamId, contactId }, { key: next.key, type: next.type, next }, now)
}

/** Stores a step: one that was reached (`next`), or a trigger, which has already ended. */
async function insertStep(
  db: Db,
  { runId, teamId, contactId }: { runId: string; teamId: string; contactId: string },
  { key, type, next }: { key: string; type: StepType; next: ReachedStep | null },
  now: number,
): Promise<void> {
  await db
    .insertInto('automation_run_steps')
    .values({
      run_id: runId,
      key,
      team_id: teamId,
      type,
      contact_id: contactId,
      output: null,
      error: null,
      ...(next
        ? { status: next.status, due_at: next.dueAt, event_name: next.eventName, completed_at: null }
        : { status: 'completed', due_at: null, event_name: null, completed_at: now }),
      created_at: now,
    })
    .execute()
}

/** Ends an open step of a run that can continue, and stores the next one. Returns false if it isn't open anymore. */
async function endStep(
  db: Db,
  { runId, key, result }: { runId: string; key: string; result: StepResult },
  now: number,
): Promise<boolean> {
  const { status, output, error, waits, next, end } = result
  const run = await db
    .selectFrom('automation_runs as r')
    .innerJoin('automations as a', 'a.id', 'r.automation_id')
    .select(['r.team_id', 'r.contact_id'])
    .where('r.id', '=', runId)
    .where(canContinue)
    .executeTakeFirst()
  if (!run) return false
  const ended = await db
    .updateTable('automation_run_steps')
    .set({
      status,
      due_at: null,
      event_name: null,
      completed_at: now,
      output: output && JSON.stringify(output),
      error: error && JSON.stringify(error),
    })
    .where('run_id', '=', runId)
    .where('key', '=', key)
    .where('due_at', 'is not', null)
    .executeTakeFirstOrThrow()
  if (ended.numUpdatedRows === 0n) return false
  const about = { runId, teamId: run.team_id, contactId: run.contact_id }
  if (next) await insertStep(db, about, { key: next.key, type: next.type, next }, now)
  if (next && !waits) return true
  await db
    .updateTable('automation_runs')
    .set({
      ...(waits && { waits: JSON.stringify(waits) }),
      ...(!next && { status: end, completed_at: now }),
    })
    .where('id', '=', runId)
    .execute()
  return true
}

/**
 * Applies the effect of a step to its contact, ends the step and starts the next one, in one transaction. If the effect
 * is impossible, the step and the run fail. Returns false and does nothing if the step isn't open anymore.
 */
async function advanceAutomationRun(
  db: Db,
  {
    runId,
    key,
    result,
    effect,
    act,
  }: { runId: string; key: string; result: StepResult; effect?: StepEffect | undefined; act: ConsentContext },
  now: number,
): Promise<boolean> {
  if (!(await endStep(db, { runId, key, result }, now))) return false
  if (!effect) return true
  const run = await db
    .selectFrom('automation_runs')
    .select(['team_id', 'contact_id'])
    .where('id', '=', runId)
    .executeTakeFirstOrThrow()
  const problem = await apply(db, { teamId: run.team_id, contactId: run.contact_id, effect, act }, now)
  if (problem !== undefined) await failStep(db, { runId, key, next: result.next, message: problem }, now)
  return true
}

/** Changes the contact. If that is impossible, returns the reason as a sentence. */
async function apply(
  db: Db,
  {
    teamId,
    contactId,
    effect,
    act,
  }: { teamId: string; contactId: string; effect: StepEffect; act: ConsentContext },
  now: number,
): Promise<string | undefined> {
  const ref = { id: contactId }
  if (effect.kind === 'segment') {
    const result = await addToSegment(db, { teamId, ref, segmentId: effect.segmentId }, now)
    if (result === 'no_contact') return 'The contact was deleted.'
    return 'kind' in result ? 'The segment was deleted, or has rules now.' : undefined
  }
  if (effect.kind === 'update') {
    const result = await updateContact(db, { teamId, ref, change: effect.change, act }, now)
    return result === 'unknown' ? 'The contact was deleted.' : undefined
  }
  const contact = await getContact(db, { teamId, ref })
  if (contact) await removeContact(db, contact, now)
  return undefined
}

/** Postpones a due step, for example because a quota is exhausted. */
async function postponeAutomationStep(
  db: Db,
  { runId, key, dueAt }: { runId: string; key: string; dueAt: number },
): Promise<void> {
  await db
    .updateTable('automation_run_steps')
    .set({ due_at: dueAt })
    .where('run_id', '=', runId)
    .where('key', '=', key)
    .where('due_at', 'is not', null)
    .execute()
}

/** Marks a step that has ended, and its run, as failed. */
async function failStep(
  db: Db,
  { runId, key, next, message }: { runId: string; key: string; next: ReachedStep | null; message: string },
  now: number,
): Promise<void> {
  await db
    .updateTable('automation_run_steps')
    .set({ status: 'failed', output: null, error: JSON.stringify({ message }) })
    .where('run_id', '=', runId)
    .where('key', '=', key)
    .execute()
  if (next)
    await db
      .deleteFrom('automation_run_steps')
      .where('run_id', '=', runId)
      .where('key', '=', next.key)
      .execute()
  await db
    .updateTable('automation_runs')
    .set({ status: 'failed', completed_at: now })
    .where('id', '=', runId)
    .execute()
}

/** The step that an email is sent for. */
export interface SendingStep {
  runId: string
  key: string
  output: Record<string, unknown>
}

/**
 * Part of `put`: records that the email of a step was accepted. Returns false if the step already has an email, its run
 * has ended or its contact opted out; then the email must not be stored. Uses plain SQL, like all of `put`.
 */
export function createStepRecorder(db: Connection): (step: SendingStep) => boolean {
  const take = db.prepare(
    `update automation_run_steps set output = ?
     where run_id = ? and key = ? and due_at is not null and output is null
       and exists (select 1 from automation_runs r join automations a on a.id = r.automation_id
         join contacts c on c.team_id = r.team_id and c.id = r.contact_id
         where r.id = automation_run_steps.run_id and r.status = 'running'
           and (a.stopped_at is null or r.created_at > a.stopped_at) and c.unsubscribed_at is null)`,
  )
  return ({ runId, key, output }) => take.run(JSON.stringify(output), runId, key).changes === 1
}

export const methods = {
  writes: { takeSentEvent, advanceAutomationRun, postponeAutomationStep },
}
