/** The operator's hand on the queue, by API or command line: looks at it, and changes it in short steps, written down before they begin. */
import { actorFields, type Actor, type AuditEntry } from '../mail/audit.ts'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { DEFAULT_POOL } from '../mail/source.ts'
import type { Delivery, HoldRule, QueueFilter, Step, Storage } from '../storage/storage.ts'
import { isEverything, writeQueueFilter } from './filter.ts'
import { Tally, type CountedLane, type QueueSummary } from './survey.ts'
import type { QueueAction } from '../mail/queue.ts'

export { isEverything, readQueueFilter } from './filter.ts'
export type { QueueSummary } from './survey.ts'

/** What is to be done, and to which deliveries. */
export interface QueueAct {
  action: QueueAction
  filter: QueueFilter
  /** Where `reroute` moves them. */
  pool?: string | undefined
  /** Allows `drop` and `expire` without any condition. */
  all?: boolean | undefined
  /** With `hold`: new mail, too, until the rule is undone. */
  keep?: boolean | undefined
  /** Nothing is done when it would touch more than these. */
  expectedCount?: number | undefined
  /**
   * The team that acts upon its own mail: the entry of the audit log is its own, and what the operator holds it cannot
   * release. Without one, it is the operator's act.
   */
  tenant?: string | undefined
}

/** What an act would touch. */
export interface QueuePreview extends QueueSummary {
  /** The ten oldest. */
  sample: Delivery[]
}

/** A row of the queue by pool and provider. */
export interface QueueLane extends CountedLane {
  /** The delivery of `sampleId`; null: it does not wait any more. */
  sample: Delivery | null
}

/** What an act has done. */
export interface QueueChange {
  action: QueueAction
  count: number
  /** The audit entry: what `undo` takes. */
  auditId: string
  /** Which rule holds new mail from now on, or no more. */
  rule: HoldRule | null
}

export interface QueueControl {
  /** Oldest first. */
  list(
    filter: QueueFilter,
    page: { limit: number; after?: string | undefined },
  ): Promise<{ items: Delivery[]; hasMore: boolean }>
  /** A delivery that waits; undefined when it does not, or is another team's. */
  get(args: { id: string; teamId: string | undefined }): Promise<Delivery | undefined>
  summary(filter: QueueFilter): Promise<QueueSummary>
  /** By pool and provider: each delivery is in one of the rows. */
  lanes(filter: QueueFilter): Promise<QueueLane[]>
  /** Refuses like `act`. */
  preview(act: QueueAct): Promise<QueuePreview>
  /**
   * Does it, in steps: mail that comes meanwhile and meets the filter is touched or not.
   * Refuses: `invalid_field` (filter, pool), `queue_grew`, `hold_rules_full`.
   */
  act(act: QueueAct, actor: Actor): Promise<QueueChange>
  /**
   * Takes back what an audit entry did to deliveries that nobody touched since: a hold with its rule, a release, a re-route.
   * Refuses: `not_found`, `not_undoable`.
   */
  undo(args: { auditId: string; teamId: string | undefined }, actor: Actor): Promise<QueueChange>
  /** The rules that hold new mail. */
  rules(args: { teamId: string | undefined }): Promise<HoldRule[]>
}

export interface QueueControlDeps {
  storage: Pick<
    Storage,
    | 'listQueue'
    | 'surveyQueue'
    | 'holdQueue'
    | 'releaseQueue'
    | 'retryQueue'
    | 'rerouteQueue'
    | 'expireQueue'
    | 'dropQueue'
    | 'addHoldRule'
    | 'removeHoldRule'
    | 'listHoldRules'
    | 'appendAudit'
    | 'completeAudit'
    | 'getAudit'
    | 'listSources'
  >
  clock: Clock
  /** Told when something may be due at once. */
  wake: () => void
}

/** Rules at one time: each new email is measured by all of them. */
const MOST_HOLD_RULES = 100

/**
 * Deliveries in one step: 2 to 12 milliseconds of the writer, measured with a million waiting, so that even behind a checkpoint
 * mail waits for less than 50. Giving up writes five tables, the others one with more or fewer of its indexes.
 */
const STEP: Record<QueueAction, number> = {
  ...{ hold: 1000, release: 1000 },
  ...{ retry: 500, reroute: 500 },
  ...{ expire: 150, drop: 150 },
}
/** The reader is asked for more: others have it between two steps. */
const SURVEY_STEP = 10_000

const SAMPLE = 10

export function createQueueControl(deps: QueueControlDeps): QueueControl {
  // One at a time, whoever asks: a step waits for no other step, and mail waits for one step at most.
  const reading = createTurnstile()
  const changing = createTurnstile()
  const survey = (filter: QueueFilter) => reading(() => surveyAll(deps, filter))

  return {
    list: (filter, page) => reading(() => listAll(deps, filter, page)),
    async get({ id, teamId }) {
      const { items } = await deps.storage.listQueue(
        { deliveryIds: [id], teamId, limit: 1 },
        deps.clock.now(),
      )
      return items[0]
    },
    summary: async (filter) => (await survey(filter)).summary,
    async lanes(filter) {
      const { lanes } = await survey(filter)
      const ids = lanes.map(({ sampleId }) => sampleId)
      const samples = ids.length === 0 ? [] : await readByIds(deps, ids)
      const byId = new Map(samples.map((one) => [one.id, one]))
      return lanes.map((lane) => ({ ...lane, sample: byId.get(lane.sampleId) ?? null }))
    },
    async preview(act) {
      await refuseCareless(act, deps)
      const filter = touchedBy(act)
      const { summary } = await survey(filter)
      const { items } = await reading(() => listAll(deps, filter, { limit: SAMPLE }))
      return { ...summary, sample: items }
    },
    async act(act, actor) {
      await refuseCareless(act, deps)
      return changing(async () => {
        if (act.expectedCount !== undefined) {
          const { count } = (await survey(touchedBy(act))).summary
          if (count > act.expectedCount) throw refuse('queue_grew', { count, expected: act.expectedCount })
        }
        return perform(act, actor, deps)
      })
    },
    undo: (which, actor) => changing(() => undo(which, actor, deps)),
    rules: ({ teamId }) => deps.storage.listHoldRules({ teamId }, deps.clock.now()),
  }
}

async function surveyAll({ storage, clock }: QueueControlDeps, filter: QueueFilter): Promise<Tally> {
  const tally = new Tally()
  let after: string | undefined
  for (;;) {
    const { groups, next } = await storage.surveyQueue({ ...filter, limit: SURVEY_STEP, after }, clock.now())
    tally.add(groups)
    if (next === null) return tally
    after = next
  }
}

/** Those that still wait. */
async function readByIds(
  { storage, clock }: QueueControlDeps,
  deliveryIds: readonly string[],
): Promise<Delivery[]> {
  const limit = deliveryIds.length
  return (await storage.listQueue({ deliveryIds, limit }, clock.now())).items
}

async function listAll(
  { storage, clock }: QueueControlDeps,
  filter: QueueFilter,
  { limit, after: from }: { limit: number; after?: string | undefined },
): Promise<{ items: Delivery[]; hasMore: boolean }> {
  const items: Delivery[] = []
  let after = from
  for (;;) {
    const wanted = limit + 1 - items.length
    const part = await storage.listQueue({ ...filter, limit: wanted, after }, clock.now())
    items.push(...part.items)
    if (part.next === null || items.length > limit)
      return { items: items.slice(0, limit), hasMore: items.length > limit }
    after = part.next
  }
}

/** What is refused before anything is looked at. */
async function refuseCareless(act: QueueAct, { storage, clock }: QueueControlDeps): Promise<void> {
  const { action, filter, pool, all = false, keep = false } = act
  if ((action === 'drop' || action === 'expire') && !all && isEverything(filter))
    throw refuse('invalid_field', {
      field: 'filter',
      expected:
        'it has no condition, and this cannot be undone; to apply it to all queued deliveries, set `all`: true',
    })
  if (keep) refuseRule(act)
  if (action !== 'reroute') {
    if (pool === undefined) return
    throw refuse('invalid_field', { field: 'pool', expected: 'it is only allowed for reroute' })
  }
  const sources = await storage.listSources({}, clock.now())
  const pools = [...new Set([DEFAULT_POOL, ...sources.map((source) => source.pool)])]
  if (pool === undefined) throw refuse('missing_field', { field: 'pool' })
  if (!pools.includes(pool))
    throw refuse('invalid_field', {
      field: 'pool',
      expected: `it must be a pool with a sending IP: ${pools.join(', ')}`,
    })
}

/** New mail is measured by what it has when it comes. */
function refuseRule({ action, filter }: QueueAct): void {
  if (action !== 'hold')
    throw refuse('invalid_field', { field: 'new', expected: 'it is only allowed for hold' })
  const { teamId: _team, domain: _domain, provider: _provider, tag: _tag, ...others } = filter
  if (!isEverything(others) || filter.provider === '?')
    throw refuse('invalid_field', {
      field: 'filter',
      expected: 'new mail can be held only by domain, provider, team and tag',
    })
}

/** The filter of an act, narrowed to what it may touch. */
const namedBy = ({ action, filter, tenant }: QueueAct): QueueFilter =>
  action === 'release' && tenant !== undefined ? { ...filter, notOfOperator: true } : filter

/** What an act would change. */
const touchedBy = (act: QueueAct): QueueFilter => ({
  ...namedBy(act),
  touch: { action: act.action, pool: act.pool },
})

async function perform(act: QueueAct, actor: Actor, deps: QueueControlDeps): Promise<QueueChange> {
  const { action, pool, tenant, keep = false } = act
  const filter = namedBy(act)
  const details = {
    filter: writeQueueFilter(filter),
    ...(pool !== undefined && { pool }),
    ...(keep && { new: true }),
  }
  return written(action, { teamId: tenant ?? null, details }, actor, deps, async (by) => {
    // The rule first: between it and the first step nothing slips through.
    const rule = keep ? await addRule(by, filter, deps) : null
    return { rule, step: stepOf(action, filter, { by, to: pool ?? null }, deps) }
  })
}

async function addRule(
  id: string,
  { teamId, domain, provider, tag }: QueueFilter,
  { storage, clock }: QueueControlDeps,
): Promise<HoldRule> {
  const now = clock.now()
  const rule: HoldRule = {
    id,
    teamId: teamId ?? null,
    domain: domain ?? null,
    provider: provider ?? null,
    tag: tag ?? null,
    createdAt: now,
  }
  if (!(await storage.addHoldRule({ rule, most: MOST_HOLD_RULES }, now)))
    throw refuse('hold_rules_full', { limit: MOST_HOLD_RULES })
  return rule
}

/** One step of an action. */
function stepOf(
  action: QueueAction,
  filter: QueueFilter,
  { by, to }: { by: string; to: string | null },
  { storage, clock }: QueueControlDeps,
): (after: string | undefined) => Promise<Step> {
  const limit = STEP[action]
  return (after) => {
    const now = clock.now()
    const args = { ...filter, limit, after }
    switch (action) {
      case 'hold':
        return storage.holdQueue({ ...args, by }, now)
      case 'release':
        return storage.releaseQueue({ ...args, by }, now)
      case 'retry':
        return storage.retryQueue(args, now)
      case 'reroute':
        return storage.rerouteQueue({ ...args, by, to }, now)
      case 'expire':
        return storage.expireQueue(args, now)
      case 'drop':
        return storage.dropQueue(args, now)
    }
  }
}

/** Writes an act down, does it step by step, and writes down what came of it, also when it breaks off. */
async function written(
  action: QueueAction,
  about: Pick<AuditEntry, 'teamId' | 'details'>,
  actor: Actor,
  { storage, clock, wake }: QueueControlDeps,
  begin: (
    id: string,
  ) => Promise<{ rule: HoldRule | null; step: (after: string | undefined) => Promise<Step> }>,
): Promise<QueueChange> {
  const at = clock.now()
  const id = newId(at)
  const what = { action: `queue.${action}`, target: 'queue', targetName: null } as const
  const entry = { id, at, ...about, ...actorFields(actor), ...what, before: null, after: null }
  await storage.appendAudit({ entry }, at)
  let count = 0
  let whole = false
  try {
    const { rule, step } = await begin(id)
    for (let after: string | null | undefined; after !== null;) {
      const done: Step = await step(after)
      count += done.count
      after = done.next
    }
    whole = true
    return { action, count, auditId: id, rule }
  } finally {
    await storage.completeAudit({ id, after: { count, ...(!whole && { broken_off: true }) } }, clock.now())
    if (count > 0) wake()
  }
}

/** What takes an action back. */
const INVERSE: Partial<Record<string, QueueAction>> = {
  'queue.hold': 'release',
  'queue.release': 'hold',
  'queue.reroute': 'reroute',
}

async function undo(
  { auditId, teamId }: { auditId: string; teamId: string | undefined },
  actor: Actor,
  deps: QueueControlDeps,
): Promise<QueueChange> {
  const { storage, clock } = deps
  const entry = await storage.getAudit({ id: auditId, teamId }, clock.now())
  if (!entry) throw refuse('not_found', { resource: 'Audit entry' })
  const action = INVERSE[entry.action]
  if (!action)
    throw refuse('not_undoable', {
      reason: `only hold, release and reroute can be undone, not ${entry.action}`,
    })
  const about = { teamId: entry.teamId, details: { undoes: auditId } }
  return written(action, about, actor, deps, async (by) => {
    const rule = (await storage.listHoldRules({}, clock.now())).find(({ id }) => id === auditId) ?? null
    if (rule) await storage.removeHoldRule({ id: auditId }, clock.now())
    return { rule, step: stepOf(action, { touchedBy: auditId }, { by, to: null }, deps) }
  })
}

/** Runs one piece of work at a time, in the order in which they came; the failure of one stops no other. */
function createTurnstile(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined) // Told to who waits for it.
    return mine
  }
}
