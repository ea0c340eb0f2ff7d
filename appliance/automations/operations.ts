/** Creates, changes and lists automations. automations.ts runs them. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox } from '../mail/address.ts'
import {
  type AutomationGraph,
  type AutomationStatus,
  RUN_STATUSES,
  type RunStatus,
} from '../mail/automation.ts'
import { isId, newId } from '../mail/ids.ts'
import { parseGraph } from '../mail/read-automation.ts'
import { refuse } from '../mail/refusals.ts'
import type {
  Automation,
  AutomationRun,
  AutomationRunStep,
  AutomationSummary,
  ContactProperty,
  ContactRun,
  Page,
  PageArgs,
  RunCounts,
  StepCounts,
  StorageSubset,
} from '../storage/storage.ts'
import { runAutomationTest, type TestRun, type TestRunInput } from './test-run.ts'

export { createCustomEvents, type CustomEvents } from './custom-events.ts'

/** Limit on the automations of a team. */
const MOST = 500
const MAX_NAME = 255
/** Age limit for counted runs, in milliseconds: 30 days, as long as ended runs are kept. */
const COUNTED_MS = 30 * 86_400_000
/** Maximum number of runs counted per automation: in a list, and for a single automation. */
const MOST_LISTED = 1000
const MOST_COUNTED = 10_000
/** Maximum number of a contact's runs that are listed. */
const MOST_OF_CONTACT = 20

export interface AutomationRef {
  teamId: string
  id: string
}

/** An automation in a request. Undefined fields stay as they are. */
export interface AutomationInput {
  name?: string | undefined
  status?: AutomationStatus | undefined
  steps?: unknown
  connections?: unknown
}

/** A run with the steps that it has reached, and the graph of its automation version. */
export interface RunDetails extends AutomationRun {
  steps: AutomationRunStep[]
  graph: AutomationGraph
}

/** Numbers of runs by state, each at most `most`. */
export interface CountedRuns {
  counts: RunCounts
  most: number
}

/** Numbers of an automation's runs, and the results of each step of its current version. */
export interface AutomationCounts extends CountedRuns {
  steps: StepCounts[]
}

export interface AutomationOperations {
  /**
   * Lists automations, newest first.
   * @param args counted: with numbers of their runs
   */
  list(
    args: PageArgs & { status?: AutomationStatus | undefined; counted?: boolean },
  ): Promise<Page<AutomationSummary & { runs?: CountedRuns }>>
  /** Counts the runs of the last 30 days, and the results of each step. Refuses: `not_found`. */
  counts(args: AutomationRef): Promise<AutomationCounts>
  /** Returns an automation. Refuses: `not_found`. */
  get(args: AutomationRef): Promise<Automation>
  /**
   * Creates an automation. Refuses: `missing_field`, `invalid_field`, `not_found`, `template_unpublished`, `too_many`.
   */
  create(args: { teamId: string; input: AutomationInput }): Promise<Automation>
  /**
   * Changes an automation. Runs keep the steps that they began with. Returns its revision.
   * @param args revision: the version that the caller read; undefined for any
   * Refuses: `not_found`, `automation_changed`, and for the same reasons as `create`.
   */
  update(args: AutomationRef & { input: AutomationInput; revision?: string | undefined }): Promise<string>
  /** Deletes an automation and ends its runs. Refuses: `not_found`. */
  remove(args: AutomationRef): Promise<void>
  /** Disables an automation and ends its runs. Refuses: `not_found`. */
  stop(args: AutomationRef): Promise<void>
  /** Creates a disabled copy. Refuses: `not_found`, `too_many`. */
  duplicate(args: AutomationRef): Promise<Automation>
  /**
   * Lists runs, newest first. Refuses: `not_found`, `invalid_parameter`.
   * @param args status: comma-separated names
   */
  runs(
    args: AutomationRef & Omit<PageArgs, 'teamId'> & { status?: string | undefined },
  ): Promise<Page<AutomationRun>>
  /** Lists the newest 20 runs of a contact, of all automations, with the steps that they have reached. */
  contactRuns(args: { teamId: string; contactId: string }): Promise<ContactRun[]>
  /** Returns a run. Refuses: `not_found`. */
  run(args: AutomationRef & { runId: string }): Promise<RunDetails>
  /**
   * Repeats the failed step of a run, and continues from there. Refuses: `not_found`, `run_not_failed`,
   * `automation_stopping`.
   */
  retry(args: AutomationRef & { runId: string }): Promise<void>
  /**
   * Shows what a run would do, without waits, emails or changes.
   * @param args steps: steps to test instead of the automation's, together with `connections`
   * Refuses: `not_found`, and for the same reasons as `runAutomationTest` and `create`.
   */
  test(
    args: AutomationRef & { input: TestRunInput & Pick<AutomationInput, 'steps' | 'connections'> },
  ): Promise<TestRun>
}

export interface AutomationOperationDeps {
  storage: StorageSubset<
    | 'automations'
    | 'automationCounts'
    | 'automationRuns'
    | 'templateRows'
    | 'segments'
    | 'topics'
    | 'contactProperties'
    | 'contactRows'
    | 'customEvents'
  >
  clock: Clock
}

const noRun = () => refuse('not_found', { resource: 'Automation run' })
const noAutomation = () => refuse('not_found', { resource: 'Automation' })

/**
 * Creates the methods that manage automations.
 * @param changed called after a change that ends or continues runs
 */
export function createAutomationOperations(
  deps: AutomationOperationDeps,
  changed: () => void = () => undefined,
): AutomationOperations {
  const { storage, clock } = deps
  const get = async (ref: AutomationRef): Promise<Automation> => {
    const found = await storage.getAutomation(ref, clock.now())
    if (!found) throw noAutomation()
    return found
  }
  const store = async (
    about: Pick<Automation, 'teamId' | 'name' | 'status' | 'graph'>,
  ): Promise<Automation> => {
    const now = clock.now()
    const created = { ...about, id: newId(now), versionId: newId(now) }
    const automation = { ...created, stopReason: null, createdAt: now, updatedAt: now }
    if (!(await storage.createAutomation({ automation, most: MOST }, now)))
      throw refuse('too_many', { limit: MOST, things: 'automations' })
    return automation
  }
  const stop = async (ref: AutomationRef, deleted: boolean): Promise<void> => {
    if (!(await storage.stopAutomation({ ...ref, reason: null, deleted }, clock.now()))) throw noAutomation()
    changed()
  }
  return {
    get,
    async create({ teamId, input }) {
      const { steps, connections, status = 'disabled' } = input
      const name = readName(input.name ?? '')
      const graph = await readTeamGraph(deps, teamId, { steps, connections })
      return store({ teamId, name, status, graph })
    },
    async update({ input, ...ref }) {
      const { teamId, versionId } = await get(ref)
      const change = await readChange(deps, teamId, input)
      const result = await storage.updateAutomation({ ...ref, change }, clock.now())
      if (result === 'absent') throw noAutomation()
      if (result === 'stale') throw refuse('automation_changed')
      return change.version?.id ?? versionId
    },
    remove: (ref) => stop(ref, true),
    stop: (ref) => stop(ref, false),
    async duplicate(ref) {
      const { teamId, name, graph } = await get(ref)
      return store({ teamId, name: `${name.slice(0, MAX_NAME - 7)} (copy)`, status: 'disabled', graph })
    },
    async test({ input: { steps, connections, ...input }, ...ref }) {
      const { teamId, graph: saved } = await get(ref)
      const graph = steps === undefined ? saved : await readTeamGraph(deps, teamId, { steps, connections })
      return runAutomationTest(deps, { teamId, graph, input })
    },
    ...runMethods(deps, get, changed),
    ...countMethods(deps, get),
  }
}

function countMethods(
  { storage, clock }: AutomationOperationDeps,
  get: AutomationOperations['get'],
): Pick<AutomationOperations, 'list' | 'counts'> {
  const count = (teamId: string, ids: string[], most: number) => {
    const now = clock.now()
    return storage.countAutomationRuns({ teamId, ids, since: now - COUNTED_MS, most }, now)
  }
  return {
    async list({ counted = false, ...args }) {
      const page = await storage.listAutomations(args, clock.now())
      if (!counted) return page
      const ids = page.items.map(({ id }) => id)
      const counts = await count(args.teamId, ids, MOST_LISTED)
      const items = page.items.map((one) => {
        const found = counts[one.id]
        return found ? { ...one, runs: { counts: found, most: MOST_LISTED } } : one
      })
      return { ...page, items }
    },
    async counts({ teamId, id }) {
      const { graph } = await get({ teamId, id })
      const now = clock.now()
      const counts = (await count(teamId, [id], MOST_COUNTED))[id] ?? NO_RUNS
      const asked = { teamId, automationId: id, since: now - COUNTED_MS, most: MOST_COUNTED }
      const found = await storage.countAutomationSteps(asked, now)
      const steps = graph.steps.map(({ key }) => found.find((one) => one.key === key) ?? { ...NO_STEPS, key })
      return { counts, steps, most: MOST_COUNTED }
    },
  }
}

const NO_RUNS: RunCounts = { running: 0, completed: 0, failed: 0, cancelled: 0 }
const NO_STEPS = { waiting: 0, completed: 0, failed: 0, skipped: 0 }

function runMethods(
  { storage, clock }: AutomationOperationDeps,
  get: AutomationOperations['get'],
  changed: () => void,
): Pick<AutomationOperations, 'runs' | 'contactRuns' | 'run' | 'retry'> {
  return {
    async retry({ runId, ...ref }) {
      const { name } = await get(ref)
      const asked = { teamId: ref.teamId, automationId: ref.id, id: runId }
      const result = await storage.retryAutomationRun(asked, clock.now())
      if (result === 'absent') throw noRun()
      if (result === 'not_failed') throw refuse('run_not_failed')
      if (result === 'stopped') throw refuse('automation_stopping', { name })
      changed()
    },
    async runs({ id, status, ...page }) {
      await get({ teamId: page.teamId, id })
      const asked = { ...page, automationId: id, statuses: readStatuses(status) }
      return storage.listAutomationRuns(asked, clock.now())
    },
    contactRuns: (args) => storage.contactAutomationRuns({ ...args, most: MOST_OF_CONTACT }, clock.now()),
    async run({ runId, ...ref }) {
      await get(ref)
      const now = clock.now()
      const run = await storage.getAutomationRun({ teamId: ref.teamId, automationId: ref.id, id: runId }, now)
      const graph = run && (await storage.getAutomationVersion({ id: run.versionId }, now))
      if (!run || !graph) throw noRun()
      return { ...run, graph }
    },
  }
}

function readStatuses(given: string | undefined): RunStatus[] {
  const names = (given ?? '').split(',').filter((one) => one.trim() !== '')
  return names.map((name) => {
    const known = RUN_STATUSES.find((one) => one === name.trim().toLowerCase())
    if (!known)
      throw refuse('invalid_parameter', {
        parameter: 'status',
        expected: `one of ${RUN_STATUSES.join(', ')}`,
      })
    return known
  })
}

function readName(given: string): string {
  const name = given.trim()
  if (name === '') throw refuse('missing_field', { field: 'name' })
  if (name.length > MAX_NAME || /[\p{Cc}\p{Cs}]/u.test(name))
    throw refuse('invalid_field', { field: 'name', expected: `at most ${MAX_NAME} characters on one line` })
  return name
}

async function readChange(deps: AutomationOperationDeps, teamId: string, input: AutomationInput) {
  const { name, status, steps, connections } = input
  if ((steps === undefined) !== (connections === undefined))
    throw refuse('invalid_field', {
      field: steps === undefined ? 'steps' : 'connections',
      expected: '`steps` and `connections` must be given together',
    })
  if (name === undefined && status === undefined && steps === undefined)
    throw refuse('missing_field', { field: 'name' })
  const graph = steps === undefined ? undefined : await readTeamGraph(deps, teamId, { steps, connections })
  return {
    name: name === undefined ? undefined : readName(name),
    status,
    version: graph && { id: newId(deps.clock.now()), graph },
  }
}

/** Reads a graph, and checks that everything its steps refer to exists in the team. Refuses: `invalid_field`. */
async function readTeamGraph(
  deps: AutomationOperationDeps,
  teamId: string,
  given: { steps: unknown; connections: unknown },
): Promise<AutomationGraph> {
  if (given.steps === undefined) throw refuse('missing_field', { field: 'steps' })
  const graph = parseGraph({ steps: given.steps, connections: given.connections ?? [] })
  const properties = await deps.storage.listContactProperties({ teamId }, deps.clock.now())
  for (const [at, step] of graph.steps.entries()) {
    const path = `steps[${at}].config`
    if (step.type === 'send_email') await checkSendEmail(deps, teamId, step.config, path)
    if (step.type === 'add_to_segment') await checkSegment(deps, teamId, step.config.segment_id, path)
    if (step.type === 'contact_update') checkProperties(properties, step.config.properties ?? {}, path)
  }
  return graph
}

async function checkSendEmail(
  { storage, clock }: AutomationOperationDeps,
  teamId: string,
  config: { template: { id: string }; from?: string; reply_to?: string; topic_id?: string },
  path: string,
): Promise<void> {
  const { template, from, reply_to: replyTo, topic_id: topicId } = config
  const ref = isId(template.id) ? { id: template.id.toLowerCase() } : { alias: template.id }
  const now = clock.now()
  const found = await storage.getTemplate({ teamId, ref, published: true }, now)
  if (!found)
    throw refuse('invalid_field', {
      field: `${path}.template.id`,
      expected: `a published template; \`${template.id.slice(0, 100)}\` is none`,
    })
  if (from === undefined && found.version.from === null)
    throw refuse('invalid_field', {
      field: `${path}.from`,
      expected: 'a sender, which the template lacks',
    })
  for (const [name, address] of Object.entries({ from, reply_to: replyTo }))
    if (address !== undefined && !parseMailbox(address))
      throw refuse('invalid_address', { field: `${path}.${name}` })
  if (
    topicId !== undefined &&
    !(isId(topicId) && (await storage.getTopic({ teamId, id: topicId.toLowerCase() }, now)))
  )
    throw refuse('invalid_field', { field: `${path}.topic_id`, expected: 'a topic that exists' })
}

async function checkSegment(
  { storage, clock }: AutomationOperationDeps,
  teamId: string,
  id: string,
  path: string,
): Promise<void> {
  const found = isId(id) ? await storage.getSegment({ teamId, id: id.toLowerCase() }, clock.now()) : undefined
  if (!found || found.filter)
    throw refuse('invalid_field', {
      field: `${path}.segment_id`,
      expected: 'a segment that exists and has no rules',
    })
}

function checkProperties(
  known: readonly ContactProperty[],
  given: Record<string, unknown>,
  path: string,
): void {
  for (const key of Object.keys(given))
    if (!known.some((one) => one.key === key))
      throw refuse('invalid_field', {
        field: `${path}.properties.${key}`,
        expected: 'a contact property that exists',
      })
}
