/**
 * Queue operations for the API and the command line. Lists and changes deliveries in short steps. Each change is added
 * to the audit log before it begins.
 */
import { toActorFields, type Actor, type AuditEntry } from '../mail/audit.ts'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { DEFAULT_POOL } from '../mail/source.ts'
import type { Delivery, HoldRule, QueueFilter, Step, Storage } from '../storage/storage.ts'
import { matchesEverything, formatQueueFilter } from './filter.ts'
import { QueueTotals, type CountedLane, type QueueSummary } from './totals.ts'
import type { QueueAction } from '../mail/queue.ts'

export { matchesEverything, parseQueueFilter } from './filter.ts'
export type { QueueSummary } from './totals.ts'

/** An action, and the deliveries that it applies to. */
export interface QueueActionRequest {
  action: QueueAction
  filter: QueueFilter
  /** The target pool of `reroute`. */
  pool?: string | undefined
  /** Allows `drop` and `expire` without any condition. */
  all?: boolean | undefined
  /** With `hold`, also holds new mail until the rule is undone. */
  keep?: boolean | undefined
  /** Refuses the action if it would change more deliveries than this. */
  expectedCount?: number | undefined
  /**
   * The team that acts on its own mail: the audit entry belongs to this team, which can't release mail that the
   * operator holds. Undefined for an operator's action.
   */
  tenant?: string | undefined
}

/** A preview of an action. */
export interface QueuePreview extends QueueSummary {
  /** The ten oldest deliveries. */
  sample: Delivery[]
}

/** Queued deliveries by pool and provider. */
export interface QueueLane extends CountedLane {
  /** The delivery with ID `sampleId`; null if it is no longer queued. */
  sample: Delivery | null
}

/** The result of an action. */
export interface QueueChange {
  action: QueueAction
  count: number
  /** ID of the audit entry, for `undo`. */
  auditId: string
  /** The rule that was added or removed. */
  rule: HoldRule | null
}

export interface QueueControl {
  /** Lists deliveries, oldest first. */
  list(
    filter: QueueFilter,
    page: { limit: number; after?: string | undefined },
  ): Promise<{ items: Delivery[]; hasMore: boolean }>
  /** Returns a queued delivery; undefined if it isn't queued or belongs to another team. */
  get(args: { id: string; teamId: string | undefined }): Promise<Delivery | undefined>
  summary(filter: QueueFilter): Promise<QueueSummary>
  /** Counts deliveries by pool and provider. Each delivery is counted in exactly one row. */
  lanes(filter: QueueFilter): Promise<QueueLane[]>
  /** Counts what an action would change. Refuses like `act`. */
  preview(act: QueueActionRequest): Promise<QueuePreview>
  /**
   * Runs an action in steps. Matching mail that arrives meanwhile may or may not be changed.
   * Refuses: `invalid_field` (filter, pool), `queue_grew`, `hold_rules_full`.
   */
  act(act: QueueActionRequest, actor: Actor): Promise<QueueChange>
  /**
   * Undoes a hold with its rule, a release, or a reroute, for deliveries that haven't changed since.
   * Refuses: `not_found`, `not_undoable`.
   */
  undo(args: { auditId: string; teamId: string | undefined }, actor: Actor): Promise<QueueChange>
  /** Lists the rules that hold new mail. */
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
  /** Called when a delivery may be due immediately. */
  wake: () => void
}

/** Maximum number of rules, because each new email is checked against all of them. */
const MOST_HOLD_RULES = 100

/**
 * Number of deliveries per step. A step occupies the writer for 2 to 12 ms, measured with a million queued deliveries,
 * so that other writes wait less than 50 ms even during a checkpoint. Drop and expire write to five tables, the other
 * actions to one, with more or fewer of its indexes.
 */
const STEP: Record<QueueAction, number> = {
  hold: 1000,
  release: 1000,
  retry: 500,
  reroute: 500,
  expire: 150,
  drop: 150,
}
/** Number of deliveries per step of a count. Larger than for changes, because other reads can run between two steps. */
const SURVEY_STEP = 10_000

const SAMPLE = 10

export function createQueueControl(deps: QueueControlDeps): QueueControl {
  // Only one step runs at a time across all callers, so that other requests wait for one step at most.
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

async function surveyAll({ storage, clock }: QueueControlDeps, filter: QueueFilter): Promise<QueueTotals> {
  const totals = new QueueTotals()
  let after: string | undefined
  for (;;) {
    const { groups, next } = await storage.surveyQueue({ ...filter, limit: SURVEY_STEP, after }, clock.now())
    totals.add(groups)
    if (next === null) return totals
    after = next
  }
}

/** Returns the deliveries with these IDs that are still queued. */
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

/** Refuses careless actions before anything is read. */
async function refuseCareless(act: QueueActionRequest, { storage, clock }: QueueControlDeps): Promise<void> {
  const { action, filter, pool, all = false, keep = false } = act
  if ((action === 'drop' || action === 'expire') && !all && matchesEverything(filter))
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

/** Refuses an action that can't be a hold rule. New mail can only match conditions that are known when it arrives. */
function refuseRule({ action, filter }: QueueActionRequest): void {
  if (action !== 'hold')
    throw refuse('invalid_field', { field: 'new', expected: 'it is only allowed for hold' })
  const { teamId: _team, domain: _domain, provider: _provider, tag: _tag, ...others } = filter
  if (!matchesEverything(others) || filter.provider === '?')
    throw refuse('invalid_field', {
      field: 'filter',
      expected: 'new mail can be held only by domain, provider, team and tag',
    })
}

/** Returns the filter of an action, limited to what the caller may change. */
const namedBy = ({ action, filter, tenant }: QueueActionRequest): QueueFilter =>
  action === 'release' && tenant !== undefined ? { ...filter, notOfOperator: true } : filter

/** Returns the filter that selects the deliveries an action would change. */
const touchedBy = (act: QueueActionRequest): QueueFilter => ({
  ...namedBy(act),
  touch: { action: act.action, pool: act.pool },
})

async function perform(act: QueueActionRequest, actor: Actor, deps: QueueControlDeps): Promise<QueueChange> {
  const { action, pool, tenant, keep = false } = act
  const filter = namedBy(act)
  const details = {
    filter: formatQueueFilter(filter),
    ...(pool !== undefined && { pool }),
    ...(keep && { new: true }),
  }
  return written(action, { teamId: tenant ?? null, details }, actor, deps, async (by) => {
    // Add the rule first, so that no mail slips through before the first step.
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

/** Runs one step of an action. */
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

/** Adds an action to the audit log, runs its steps, and adds the result, even after a failure. */
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
  const entry = { id, at, ...about, ...toActorFields(actor), ...what, before: null, after: null }
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

/** The inverse of each action that can be undone. */
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

/** Creates a function that runs one async operation at a time, in order. A failure doesn't stop the others. */
function createTurnstile(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined) // The caller gets the error.
    return mine
  }
}
