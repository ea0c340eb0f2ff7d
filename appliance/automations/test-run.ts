/** Simulates a run step by step. Waits take no time, nothing is stored, and no email is sent. */
import type { Clock } from '../clock/clock.ts'
import { computeOptOut } from '../mail/audience.ts'
import { type AutomationGraph, parseDuration, type StepConfig, listTriggers } from '../mail/automation.ts'
import { type EventPayload, parseEventName, parsePayload } from '../mail/custom-event.ts'
import { newId } from '../mail/ids.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import type {
  AutomationRunStep,
  Contact,
  ContactProperty,
  OpenStep,
  StepEffect,
  StepResult,
  StorageSubset,
} from '../storage/storage.ts'
import { createTemplateFiller } from '../templates/templates.ts'
import { parseEventContact, type SendEventInput } from './custom-events.ts'
import { decideStep, type Decision, failStep, resumeAfterEvent, decideNewRuns } from './decide.ts'

/** Maximum number of events that arrive during a test run. */
const MOST_ARRIVALS = 50
/** Maximum time from the start to an arrival, in milliseconds: ten years. */
const LATEST_MS = 3650 * 86_400_000
/** Name of the version of the graph that is tested. */
const VERSION = 'test'

/** An event that arrives during a test run. `after`: how long after the start, such as `2 days`. */
export interface ArrivingEventInput {
  event: string
  payload?: EventPayload | null | undefined
  after: string
}

/** The event that starts a test run, its contact, and the events that arrive later. */
export interface TestRunInput extends SendEventInput {
  arrivals?: ArrivingEventInput[] | null | undefined
}

/** Result of a test run. Times are Unix milliseconds, as if the run had begun now. */
export interface TestRun {
  status: StepResult['end']
  createdAt: number
  completedAt: number
  steps: AutomationRunStep[]
  graph: AutomationGraph
}

export interface TestRunDeps {
  storage: StorageSubset<'contactRows' | 'contactProperties' | 'customEvents' | 'templateRows'>
  clock: Clock
}

interface Arrival {
  name: string
  payload: EventPayload
  at: number
}

/** The state of a test run between two steps. */
interface Course {
  graph: AutomationGraph
  properties: readonly ContactProperty[]
  /** The contact; undefined after a step deleted it. */
  contact: Contact | undefined
  event: EventPayload
  waits: Record<string, EventPayload>
  /** Events that arrive, sorted by time. */
  arrivals: readonly Arrival[]
}

/**
 * Runs an automation for a contact as it is now. An unknown address becomes a contact, as in a real run.
 * Refuses: `missing_field`, `invalid_field`, `invalid_id`, `event_about`, `not_found`.
 */
export async function runAutomationTest(
  deps: TestRunDeps,
  { teamId, graph, input }: { teamId: string; graph: AutomationGraph; input: TestRunInput },
): Promise<TestRun> {
  const { storage, clock } = deps
  const now = clock.now()
  const start = await readArrival(deps, teamId, input, now)
  const event = { ...start, id: newId(now), teamId, contactId: null, email: '', createdAt: now }
  const starts = [{ automationId: '', versionId: VERSION }]
  const [run] = decideNewRuns({ event, starts }, new Map([[VERSION, graph]]), now)
  if (!run) {
    const expected = `an event that starts the automation: ${listTriggers(graph).join(', ')}`
    throw refuse('invalid_field', { field: 'event', expected })
  }
  const course: Course = {
    graph,
    properties: await storage.listContactProperties({ teamId }, now),
    contact: await contactOf(deps, teamId, input),
    event: event.payload,
    waits: {},
    arrivals: await readArrivals(deps, teamId, input.arrivals ?? [], now),
  }
  const trigger = ended({ key: run.trigger, type: 'trigger' }, now, now, {
    status: 'completed',
    output: null,
    error: null,
  })
  const { steps, status, at } = await follow(deps, course, run.next, now)
  return { status, createdAt: now, completedAt: at, steps: [trigger, ...steps], graph }
}

/** Executes one step after the other until the run ends, which it does because a graph has no cycles. */
async function follow(
  deps: TestRunDeps,
  course: Course,
  first: StepResult['next'],
  start: number,
): Promise<{ steps: AutomationRunStep[]; status: StepResult['end']; at: number }> {
  const steps: AutomationRunStep[] = []
  let [reached, at]: [StepResult['next'], number] = [first, start]
  let status: StepResult['end'] = 'completed'
  while (reached) {
    const done = await perform(deps, course, reached, at)
    steps.push(ended(reached, at, done.at, done.result))
    course.waits = done.result.waits ?? course.waits
    course.contact = course.contact && contactAfter(course.contact, done.effect, done.at)
    ;({ next: reached, end: status } = done.result)
    at = done.at
  }
  return { steps, status, at }
}

/** Executes a step that the run reached at a given time. Returns its result, and when it ended. */
async function perform(
  deps: TestRunDeps,
  course: Course,
  reached: NonNullable<StepResult['next']>,
  since: number,
): Promise<{ result: StepResult; effect?: StepEffect | undefined; at: number }> {
  const situation = (now: number, output: OpenStep['output'] = null) => ({
    ...course,
    step: openStep(course, reached, output),
    now,
  })
  for (const { name, payload, at } of course.arrivals) {
    if (name !== reached.eventName || at < since || at >= reached.dueAt) continue
    const result = resumeAfterEvent(payload, situation(at))
    if (result) return { result, at }
  }
  const at = reached.dueAt
  const decision = decideStep(situation(at))
  if (decision.kind === 'advance') return { ...decision, at }
  const written = await write(deps, course.contact!, decision)
  const then = 'problem' in written ? failStep(written.problem) : decideStep(situation(at, written.output))
  return { ...(then as Extract<Decision, { kind: 'advance' }>), at }
}

const openStep = (
  { contact, event, waits }: Course,
  { key, type, status }: NonNullable<StepResult['next']>,
  output: OpenStep['output'],
): OpenStep => ({
  runId: '',
  key,
  type,
  status,
  teamId: contact?.teamId ?? '',
  automationId: '',
  versionId: VERSION,
  contactId: contact?.id ?? '',
  event,
  waits,
  output,
})

/** Renders the template of a step for the contact in its current state. */
async function write(
  { storage, clock }: TestRunDeps,
  contact: Contact,
  {
    config,
    to,
    variables,
  }: { config: StepConfig<'send_email'>; to: string; variables: Record<string, unknown> },
): Promise<{ output: Record<string, unknown> } | { problem: string }> {
  const fill = createTemplateFiller({ storage: { ...storage, getContact: async () => contact }, clock })
  const { from, subject, reply_to: replyTo, template } = config
  const named = { id: template.id, variables }
  try {
    const { body } = await fill({ to, from, subject, reply_to: replyTo, template: named }, contact.teamId)
    return { output: { to, from: body.from, subject: body.subject, template: named } }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { problem: error.message }
  }
}

const ended = (
  { key, type }: Pick<AutomationRunStep, 'key' | 'type'>,
  createdAt: number,
  completedAt: number,
  { status, output, error }: Pick<StepResult, 'status' | 'output' | 'error'>,
): AutomationRunStep => ({ key, type, status, dueAt: null, output, error, createdAt, completedAt })

/** Returns the contact after a step; undefined if the step deleted it. */
function contactAfter(contact: Contact, effect: StepEffect | undefined, now: number): Contact | undefined {
  if (effect?.kind === 'delete') return undefined
  if (effect?.kind !== 'update') return contact
  const {
    firstName = contact.firstName,
    lastName = contact.lastName,
    unsubscribed,
    properties,
  } = effect.change
  const values = Object.entries({ ...contact.properties, ...properties })
  return {
    ...contact,
    firstName,
    lastName,
    // As in a real run, a step never lifts an opt-out.
    optOut: computeOptOut(contact.optOut, unsubscribed, { origin: 'api', lifts: false }, now),
    properties: Object.fromEntries(
      values.flatMap(([label, value]) => (value === null ? [] : [[label, value]])),
    ),
  }
}

async function contactOf(
  { storage, clock }: TestRunDeps,
  teamId: string,
  input: SendEventInput,
): Promise<Contact> {
  const now = clock.now()
  const about = parseEventContact(input)
  const known = await storage.getContact({ teamId, ref: about }, now)
  if (known) return known
  if ('id' in about) throw refuse('not_found', { resource: 'Contact' })
  return {
    id: newId(now),
    teamId,
    email: about.email,
    firstName: null,
    lastName: null,
    properties: {},
    optOut: null,
    lastOpenedAt: null,
    lastClickedAt: null,
    createdBy: 'api',
    createdFrom: null,
    createdAt: now,
    updatedAt: now,
  }
}

/** Reads an event, and checks its payload against its schema if it has one. */
async function readArrival(
  { storage, clock }: TestRunDeps,
  teamId: string,
  { event, payload }: Pick<ArrivingEventInput, 'event' | 'payload'>,
  at: number,
): Promise<Arrival> {
  const name = parseEventName(event, 'event')
  const known = await storage.getCustomEvent({ teamId, ref: { name } }, clock.now())
  return { name, payload: parsePayload(payload, known?.schema ?? null), at }
}

async function readArrivals(
  deps: TestRunDeps,
  teamId: string,
  given: ArrivingEventInput[],
  start: number,
): Promise<Arrival[]> {
  if (given.length > MOST_ARRIVALS)
    throw refuse('invalid_field', { field: 'arrivals', expected: `at most ${MOST_ARRIVALS} events` })
  const arrivals = await Promise.all(
    given.map((one, i) => {
      const after = parseDuration(one.after)
      if (after === undefined || after > LATEST_MS)
        throw refuse('invalid_field', {
          field: `arrivals[${i}].after`,
          expected: 'a duration such as `2 days`',
        })
      return readArrival(deps, teamId, one, start + after)
    }),
  )
  return arrivals.toSorted((a, b) => a.at - b.at)
}
