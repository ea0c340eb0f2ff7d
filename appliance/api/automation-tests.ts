/** POST /automations/:automation_id/test: simulates a run. Not part of the hosted API. */
import { Type, type Static } from 'typebox'
import { RUN_STATUSES } from '../mail/automation.ts'
import type { Automation, AutomationRunStep as StoredRunStep } from '../storage/storage.ts'
import { AutomationRunStep, graphInput, presentRunSteps } from './automations.ts'
import { payloadInput } from './custom-events.ts'
import { operationsIn } from './operation.ts'
import { path, pathUuid } from './parameters.ts'
import { array, kind, literals, object, optionalOrNull, optionalText, string } from './schemas.ts'
import { Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const event = (description: string) => string(description, { examples: ['user.created'] })

export const TestAutomation = object(
  'What happens. With `steps` and `connections`, these are tested instead of the saved ones.',
  {
    event: event('The event that starts the run: one of its triggers.'),
    contact_id: optionalText('The contact to run it for. Either this or `email`.'),
    email: optionalText('The address to run it for. It doesn’t have to be a contact.'),
    payload: payloadInput,
    arrivals: optionalOrNull(
      Type.Array(
        Type.Object({
          event: event('The name of the event.'),
          payload: payloadInput,
          after: string('How long after the start it arrives.', { examples: ['2 days'] }),
        }),
      ),
      'Events that arrive during the run, at most 50. Without them, each wait times out.',
    ),
    steps: Type.Optional(graphInput.steps),
    connections: Type.Optional(graphInput.connections),
  },
)
export type TestAutomation = Static<typeof TestAutomation>

export const AutomationTestRun = object('What a run would do.', {
  object: kind('automation_test_run'),
  status: literals(
    RUN_STATUSES.filter((one) => one !== 'running'),
    'cancelled: a step needs the contact, which an earlier step deleted.',
  ),
  started_at: Timestamp,
  completed_at: Timestamp,
  steps: array(AutomationRunStep, 'Its steps, with the times that they would have.'),
})
export type AutomationTestRun = Static<typeof AutomationTestRun>

const operation = operationsIn('Automations')

export const testAutomation = operation('POST /automations/:automation_id/test', {
  summary: 'Test an automation',
  description:
    'Shows what a run would do for a contact, from now on, with the time that each step would have. Nothing is stored, no email is sent, and no contact is changed. It does not check quotas, topics and whether the domain may send. Not part of the hosted API.',
  params: path({ automation_id: pathUuid('The id of the automation.') }),
  body: TestAutomation,
  response: { 200: AutomationTestRun },
  errors: ['404'],
})

/** Renames the fields of a request. */
export const toTestInput = ({ contact_id: contactId, ...rest }: TestAutomation) => ({ ...rest, contactId })

/** Formats a test run. */
export const presentTestRun = (
  run: Pick<Automation, 'createdAt' | 'graph'> & {
    status: AutomationTestRun['status']
    completedAt: number
    steps: StoredRunStep[]
  },
): AutomationTestRun => ({
  object: 'automation_test_run',
  status: run.status,
  started_at: timestamp(run.createdAt),
  completed_at: timestamp(run.completedAt),
  steps: presentRunSteps(run),
})
