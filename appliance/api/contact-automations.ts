/** The automation runs of a contact. */
import type { Static } from 'typebox'
import { RUN_STATUSES } from '../mail/automation.ts'
import type { ContactRun as StoredRun } from '../storage/storage.ts'
import { AutomationRunStep, presentReachedStep } from './automations.ts'
import { contactParams } from './contacts.ts'
import { operationsIn } from './operation.ts'
import { array, literals, Nullable, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

export const ContactRun = object('A run of an automation for the contact.', {
  id: Id,
  automation_id: Id,
  automation_name: string('The name of the automation.'),
  event_name: string('The event that started the run.'),
  status: literals(RUN_STATUSES, 'cancelled: the automation was stopped or the contact deleted.'),
  created_at: Timestamp,
  completed_at: Nullable(Timestamp, 'null: it is still running.'),
  steps: array(AutomationRunStep, 'The steps that it has reached, in order of time.'),
})
export type ContactRun = Static<typeof ContactRun>
export const ContactRunList = listOf(ContactRun, 'runs')

const operation = operationsIn('Contacts')

export const listContactRuns = operation('GET /contacts/:id/automations', {
  summary: 'List the automation runs of a contact',
  description:
    'The newest 20, with the steps that each has reached. Runs are kept for 30 days after they began, and until they end. Not part of the hosted API.',
  params: contactParams,
  response: { 200: ContactRunList },
})

/** Formats an element of GET /contacts/:id/automations. */
export const presentContactRun = (run: StoredRun): ContactRun => ({
  id: run.id,
  automation_id: run.automationId,
  automation_name: run.automationName,
  event_name: run.eventName,
  status: run.status,
  created_at: timestamp(run.createdAt),
  completed_at: timestampOrNull(run.completedAt),
  steps: run.steps.map(presentReachedStep),
})
