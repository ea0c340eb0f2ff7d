/**
 * The public module for running automations; commands need only operations.ts. Begins runs when events arrive, and
 * executes due steps. All progress is in the storage, so that a crash neither loses nor repeats a step.
 */
import type { Clock } from '../clock/clock.ts'
import { parseRequest, type Intake } from '../intake/intake.ts'
import type { ConsentContext } from '../mail/audience.ts'
import { type AutomationGraph, decideErrorStop, MONITORED_RUNS } from '../mail/automation.ts'
import { newId } from '../mail/ids.ts'
import { Refusal } from '../mail/refusals.ts'
import { toSuppressionKey } from '../mail/suppression.ts'
import type {
  ContactProperty,
  PendingEvent,
  OpenStep,
  StepEffect,
  StepResult,
  StorageSubset,
} from '../storage/storage.ts'
import type { Templates } from '../templates/templates.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import {
  type AutomationOperations,
  type AutomationOperationDeps,
  createAutomationOperations,
} from './operations.ts'
import { decideStep, type Decision, failStep, resumeAfterEvent, decideNewRuns } from './decide.ts'

/** Number of steps and events read at a time, and number processed concurrently, which share commits. */
const BATCH = 200
const AT_ONCE = 50
/** Maximum number of automation versions kept in memory. */
const VERSIONS = 200
/** How long to wait before retrying an email that can't be accepted now, in milliseconds. */
const RETRY_MS = 60_000
/** Period over which an automation's errors are counted, in milliseconds. */
const WATCHED_MS = 24 * 60 * 60_000

interface RunnerDeps {
  storage: StorageSubset<
    'automations' | 'automationRuns' | 'automationRunning' | 'openSteps' | 'contactRows' | 'contactProperties'
  >
  clock: Clock
  log: Logger
  duties?: Duties | undefined
  intake: Pick<Intake, 'accept'>
  templates: Pick<Templates, 'fill'>
  pollMs: number
}

type Send = Extract<Decision, { kind: 'send' }>

export interface Automations extends AutomationOperations {
  /** Checks for events and due steps now. */
  wake(): void
  /** Starts to run automations. Only for the daemon. */
  start(): void
  /** Stops after the current step. */
  close(): Promise<void>
}

/** Creates the runner of automations. */
export function createAutomations(deps: RunnerDeps & AutomationOperationDeps): Automations {
  const runner = createRunner(deps)
  return {
    ...createAutomationOperations(deps, () => runner.wake()),
    wake: () => runner.wake(),
    start: () => runner.start(),
    close: () => runner.stop(),
  }
}

function createRunner(deps: RunnerDeps): Worker {
  const { storage, clock, log, pollMs } = deps
  const onDuty = createDutyCheck(deps.duties, 'automations')
  const run = new Run(deps)
  const step = async (going: () => boolean): Promise<boolean> => {
    const events = await storage.pendingEvents({ most: BATCH }, clock.now())
    const due = events.length > 0 ? [] : await storage.dueAutomationSteps({ most: BATCH }, clock.now())
    const stopped = (await storage.hasStoppedRuns({}, clock.now())) && (await onDuty())
    if (stopped) await storage.cancelStoppedRuns({ most: BATCH }, clock.now())
    if (events.length + due.length === 0 || !(await onDuty())) return stopped
    run.begin()
    // A contact's events must be processed in order; those of different contacts share a commit.
    await atOnce([...Map.groupBy(events, contactOf).values()], going, async (works) => {
      for (const work of works) if (going()) await run.take(work)
    })
    await atOnce(due, going, (one) => run.proceed(one))
    return going()
  }
  const next = (): Promise<number | undefined> => storage.nextAutomationStep({}, clock.now())
  const trouble = 'automations are delayed: the storage is not responding; no run is lost'
  return createWorker({ step, next, clock, log, pollMs, trouble })
}

/** Calls `work` for all items, `AT_ONCE` of them at a time, until `going` is false. */
async function atOnce<T>(
  items: readonly T[],
  going: () => boolean,
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length && going(); at += AT_ONCE)
    await Promise.all(items.slice(at, at + AT_ONCE).map(work))
}

/** Identifies the contact of an event, also one that doesn't exist yet. */
const contactOf = ({ event, contact }: PendingEvent): string =>
  contact?.id ?? event.contactId ?? `${event.teamId} ${toSuppressionKey(event.email)}`

/** Creates the entry for the consent log. A person's own opt-out is never lifted. */
const actOf = (automationId: string | null): ConsentContext => ({
  origin: 'api',
  via: 'automation',
  source: automationId,
  ip: null,
  userAgent: null,
  wording: null,
  lifts: false,
})

class Run {
  readonly #deps: RunnerDeps
  readonly #graphs = new Map<string, AutomationGraph>()
  /** Properties by team, cached for the current batch. */
  readonly #properties = new Map<string, Promise<ContactProperty[]>>()

  constructor(deps: RunnerDeps) {
    this.#deps = deps
  }

  /** Clears caches that may be out of date. */
  begin(): void {
    this.#properties.clear()
    if (this.#graphs.size > VERSIONS) this.#graphs.clear()
  }

  async #graphOf(versionId: string): Promise<AutomationGraph | undefined> {
    const known = this.#graphs.get(versionId)
    if (known) return known
    const { storage, clock } = this.#deps
    const graph = await storage.getAutomationVersion({ id: versionId }, clock.now())
    if (graph) this.#graphs.set(versionId, graph)
    return graph
  }

  #propertiesOf(teamId: string): Promise<ContactProperty[]> {
    const { storage, clock } = this.#deps
    const known = this.#properties.get(teamId)
    const properties = known ?? storage.listContactProperties({ teamId }, clock.now())
    this.#properties.set(teamId, properties)
    return properties
  }

  /** Starts the runs that an event triggers, and continues those that waited for it. */
  async take({ event, contact, starts, waiting }: PendingEvent): Promise<void> {
    const { storage, clock } = this.#deps
    const properties = await this.#propertiesOf(event.teamId)
    const now = clock.now()
    for (const { versionId } of [...starts, ...waiting]) await this.#graphOf(versionId)
    const runs = decideNewRuns({ event, starts }, this.#graphs, now)
    const resumed = waiting.flatMap((step) => {
      const graph = this.#graphs.get(step.versionId)
      const result = graph && resumeAfterEvent(event.payload, { step, graph, contact, properties, now })
      return result ? [{ runId: step.runId, key: step.key, result }] : []
    })
    const act = actOf(runs[0]?.automationId ?? null)
    await storage.takeSentEvent({ event, contactId: newId(now), runs, resumed, act }, now)
  }

  /** Executes a due step. */
  async proceed(step: OpenStep): Promise<void> {
    const { storage, clock } = this.#deps
    const { teamId, contactId } = step
    const graph = (await this.#graphOf(step.versionId)) ?? { steps: [], connections: [] }
    const contact = await storage.getContact({ teamId, ref: { id: contactId } }, clock.now())
    const properties = await this.#propertiesOf(teamId)
    const decision = decideStep({ step, graph, contact, properties, now: clock.now() })
    if (decision.kind === 'advance') return this.#advance(step, decision)
    const sent = await this.#send(step, decision)
    if (sent === 'later') {
      const dueAt = clock.now() + RETRY_MS
      await storage.postponeAutomationStep({ runId: step.runId, key: step.key, dueAt }, clock.now())
    } else if (sent !== 'taken') await this.#advance(step, failStep(sent.problem))
  }

  async #advance(
    step: OpenStep,
    { result, effect }: { result: StepResult; effect?: StepEffect | undefined },
  ): Promise<void> {
    const { storage, clock } = this.#deps
    const { runId, key } = step
    const act = actOf(step.automationId)
    await storage.advanceAutomationRun({ runId, key, result, effect, act }, clock.now())
    if (result.status === 'failed' && result.end === 'failed') await this.#watch(step)
  }

  /**
   * Sends the email of a step. Its ID is stored as the step's output in the same transaction; the step advances when it
   * is next read. Returns `later` if the reason for a refusal is temporary, such as an exhausted quota.
   */
  async #send(
    step: OpenStep,
    { config, to, variables }: Send,
  ): Promise<'taken' | 'later' | { problem: string }> {
    const { intake, templates, clock } = this.#deps
    const { teamId, automationId, runId, key } = step
    const { template, from, subject, reply_to: replyTo, topic_id: topicId } = config
    try {
      const named = { id: template.id, variables }
      const filled = await templates.fill({ to, from, subject, reply_to: replyTo, template: named }, teamId)
      const body = {
        ...filled.body,
        from: filled.body.from ?? '',
        topic_id: topicId,
        tags: [
          { name: 'automation', value: automationId },
          { name: 'automation_run', value: runId },
        ],
      }
      const submission = { ...parseRequest(body, clock.now()), template: filled.template }
      const taking = { runId, key, output: { to, email_id: '', template: named } }
      const request = {
        submissions: [submission],
        idempotencyKey: null,
        scope: 'automation',
        fingerprint: '',
      }
      await intake.accept({ ...request, step: taking }, { teamId, apiKey: null })
      return 'taken'
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      // A full disk or an exhausted quota is temporary. A problem with the email itself is permanent.
      return error.status < 500 && error.status !== 429 ? { problem: error.message } : 'later'
    }
  }

  /** Stops the automation if too many of its runs fail. */
  async #watch({ automationId, teamId }: OpenStep): Promise<void> {
    const { storage, clock, log } = this.#deps
    const now = clock.now()
    const asked = { automationId, since: now - WATCHED_MS, most: MONITORED_RUNS }
    const reason = decideErrorStop(await storage.recentAutomationRuns(asked, now))
    if (reason === undefined) return
    await storage.stopAutomation({ id: automationId, teamId, reason }, now)
    log.warn({ automation: automationId }, `stopped an automation: ${reason}`)
  }
}
