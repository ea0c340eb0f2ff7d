import type { QueueConditions } from '../../../appliance/api/queue.ts'
import type { QueueChange } from '../../../appliance/api/queue-changes.ts'
import { formatSpan } from './time.ts'

/** An action on queued deliveries. */
export type QueueAction = QueueChange['action']

/** Filters in the page's address, with their labels. */
const CONDITIONS = {
  team_id: 'Team',
  domain: 'Domain',
  provider: 'Provider',
  state: 'State',
  older_than: 'Older than',
  newer_than: 'Newer than',
  reply: 'Reply',
  category: 'Category',
  pool: 'Pool',
  region: 'Region',
  node: 'Node',
  stream: 'Stream',
  tag: 'Tag',
  source: 'Attempted from',
  email_id: 'Email',
  broadcast: 'Broadcast',
  id: 'Delivery',
} as const satisfies Record<keyof QueueConditions, string>
type Condition = keyof typeof CONDITIONS

/** Filters with a field or button; the others are shown as chips. */
const WITH_FIELD: readonly string[] = ['team_id', 'domain', 'provider', 'state', 'reply']

/** Returns the filters in the address. */
export function parseQueueConditions(query: URLSearchParams): QueueConditions {
  const given = Object.keys(CONDITIONS).map((name) => [name, query.get(name) ?? ''] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== ''))
}

/** Returns the filters that have no field, as removable chips. */
export const listFilterChips = (
  conditions: QueueConditions,
): { name: string; words: string; value: string }[] =>
  Object.entries(conditions)
    .filter(([name]) => !WITH_FIELD.includes(name))
    .map(([name, value]) => ({ name, words: CONDITIONS[name as Condition], value }))

/** Whether these filters can apply to new mail, which has no age, reply or attempt yet. */
export const canHoldNewMail = (conditions: QueueConditions): boolean =>
  Object.keys(conditions).every((name) => ['team_id', 'domain', 'provider', 'tag'].includes(name))

/** Whether the filters match all mail of the team. The team filter doesn't count. */
export const matchesEverything = ({ team_id: _team, ...others }: QueueConditions): boolean =>
  Object.keys(others).length === 0

/** Labels of a queue action. `final`: it can't be undone. `undo`: it can be undone. */
export interface QueueActionItem {
  action: QueueAction
  words: string
  /** Title of the confirmation dialog. */
  question: string
  done: string
  final?: true
  undo?: true
  /** Whether the action is only available to operators. */
  operator?: true
}

export const QUEUE_ACTIONS: readonly QueueActionItem[] = [
  { action: 'hold', words: 'Hold', question: 'Hold deliveries?', done: 'held', undo: true },
  { action: 'release', words: 'Release', question: 'Release deliveries?', done: 'released', undo: true },
  { action: 'retry', words: 'Retry now', question: 'Retry deliveries now?', done: 'due now' },
  {
    action: 'reroute',
    words: 'Reroute',
    question: 'Reroute deliveries?',
    done: 'rerouted',
    undo: true,
    operator: true,
  },
  { action: 'expire', words: 'Expire', question: 'Expire deliveries?', done: 'expired', final: true },
  { action: 'drop', words: 'Drop', question: 'Drop deliveries?', done: 'dropped', final: true },
]

/** Whether the action of an audit log entry can be undone, such as `queue.hold`. */
export const isUndoable = (action: string): boolean =>
  QUEUE_ACTIONS.some((look) => look.undo === true && action === `queue.${look.action}`)

/** Formats a number of deliveries: `1 delivery`, `1,204 deliveries`. */
export const formatDeliveryCount = (count: number): string =>
  count === 1 ? '1 delivery' : `${count.toLocaleString('en')} deliveries`

/** A bar of the chart of queue ages. */
export interface AgeBar {
  /** `15 min to 1 h` */
  words: string
  count: number
  /** Length relative to the longest bar, 0 to 1. */
  share: number
  /** Filters that match exactly these deliveries. */
  conditions: { older_than: string | null; newer_than: string | null }
}

/** Returns the ages of queued deliveries as bars, youngest first. */
export function computeAgeBars(
  ages: readonly { from_minutes: number; to_minutes: number | null; count: number }[],
): AgeBar[] {
  const most = Math.max(1, ...ages.map(({ count }) => count))
  return ages.map(({ from_minutes: from, to_minutes: to, count }) => ({
    words: wordsOfAge(from, to),
    count,
    share: count / most,
    conditions: { older_than: from === 0 ? null : `${from}m`, newer_than: to === null ? null : `${to}m` },
  }))
}

const wordsOfAge = (from: number, to: number | null): string => {
  const age = (minutes: number) => formatSpan(minutes * 60_000)
  if (from === 0) return to === null ? 'any age' : `under ${age(to)}`
  return to === null ? `over ${age(from)}` : `${age(from)} to ${age(to)}`
}
