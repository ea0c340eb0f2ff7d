import { createQueueControl, parseQueueFilter, type QueueControl, type QueueSummary } from '../queue/queue.ts'
import type { Delivery, Email, HoldRule, QueueFilter } from '../storage/storage.ts'
import { PROVIDER_PLACEHOLDER, type Explanation } from '../shaping/shaping.ts'
import { presentQueueLane, presentQueueSummary } from '../api/queue.ts'
import { presentHoldRule } from '../api/queue-changes.ts'
import { presentDelivery, presentTimeline } from '../api/timeline.ts'
import { presentList } from '../api/shared.ts'
import { Failure, parseArgument, type Context } from './context.ts'
import { formatInstant, wrapParagraph, truncate, formatTable } from './output.ts'
import { openShaping } from './provider.ts'
import { describeHistory } from './queue-text.ts'

/** The filter options of the queue commands, as typed. */
export interface QueueOptions {
  domain?: string
  provider?: string
  pool?: string
  region?: string
  node?: string
  stream?: string
  tag?: string
  state?: string
  olderThan?: string
  newerThan?: string
  reply?: string
  category?: string
  email?: string
  broadcast?: string
  id?: string
  source?: string
}

/** Creates the queue control; a running daemon notices due deliveries within a second. */
export const openQueueControl = ({ storage, clock }: Context): QueueControl =>
  createQueueControl({ storage, clock, wake: () => undefined })

/** Builds the filter from the options. Without `--team`, it covers all teams. */
export async function buildQueueFilter(
  options: QueueOptions,
  { clock, namedTeam }: Pick<Context, 'clock' | 'namedTeam'>,
): Promise<QueueFilter> {
  const { region, node } = options
  const { domain, provider, pool, stream, tag, state, reply, category, id, source } = options
  const { olderThan: older_than, newerThan: newer_than, email: email_id, broadcast } = options
  const plain = { domain, provider, pool, stream, tag, state, reply, category, id, source }
  const typed = { ...plain, region, node, older_than, newer_than, email_id, broadcast }
  const optionOf = (name: string) => `--${name.replace(/_id$/, '').replaceAll('_', '-')}`
  const { filter } = await parseArgument(() => parseQueueFilter(typed, clock.now(), optionOf))
  const team = await namedTeam()
  return team === undefined ? filter : { ...filter, teamId: team.id }
}

/** `queue list`: prints queued deliveries and their reasons. */
export async function listQueue(context: Context, options: QueueOptions & { limit?: number }): Promise<void> {
  const { output } = context
  const control = openQueueControl(context)
  const limit = options.limit ?? 100
  const summary = await control.summary({})
  const { items, hasMore } = await control.list(await buildQueueFilter(options, context), { limit })
  const waiting = await openShaping(context).explain(items)
  const shown = items.map((one, at) => presentDelivery(one, waiting[at]))
  output.object(presentList(shown, hasMore))
  output.text(
    headline(summary),
    ...items.flatMap((one, at) => describeDelivery(one, waiting[at])),
    ...(hasMore ? ['', `Only the first ${limit} are shown. Use --limit to see more.`] : []),
  )
}

/** `queue count`: prints counts by provider and age, then the hold rules. */
export async function countQueue(context: Context, options: QueueOptions): Promise<void> {
  const { output } = context
  const control = openQueueControl(context)
  const summary = await control.summary(await buildQueueFilter(options, context))
  const rules = await control.rules({ teamId: undefined })
  output.object(presentQueueSummary(summary))
  output.text(headline(summary), ...describeCounts(summary))
  if (rules.length > 0) output.text('', 'Rules that hold new mail:', ...describeRules(rules))
}

/** `queue holds`: prints the hold rules of all teams. */
export async function listHoldRules(context: Context): Promise<void> {
  const rules = await openQueueControl(context).rules({ teamId: undefined })
  context.output.object(presentList(rules.map(presentHoldRule)))
  context.output.text(...(rules.length === 0 ? ['No rule holds new mail.'] : describeRules(rules)))
}

function describeRules(rules: readonly HoldRule[]): string[] {
  const rows = rules
    .map(presentHoldRule)
    .map(({ id, domain, provider, tag, team_id }) =>
      [domain, provider, tag, team_id].map((one) => one ?? 'any').concat(id),
    )
  return formatTable(['DOMAIN', 'PROVIDER', 'TAG', 'TEAM', 'RULE'], rows)
}

/** `queue lanes`: prints one row per delivery. */
export async function listQueueLanes(context: Context, options: QueueOptions): Promise<void> {
  const { output } = context
  const counted = await openQueueControl(context).lanes(await buildQueueFilter(options, context))
  const rows = (await openShaping(context).backlog(counted, false)).map((row) => presentQueueLane(row, true))
  output.object(presentList(rows))
  if (rows.length === 0) return output.text('The queue is empty.')
  const head = ['COUNT', 'DUE', 'LATER', 'HELD', 'IN FLIGHT', 'STATE', 'POOL', 'PROVIDER']
  const total = rows.reduce((sum, { count }) => sum + count, 0)
  output.text(
    ...formatTable(head, rows.map(laneCells)),
    '',
    `${total} in total.`,
    ...rows.flatMap(({ id, why }) => (why === null ? [] : ['', ...wrapParagraph(`${id}: ${why}.`)])),
  )
}

const laneCells = (row: ReturnType<typeof presentQueueLane>): string[] => [
  ...[row.count, row.due, row.later, row.held, row.in_flight].map(String),
  row.state.replaceAll('_', ' '),
  row.pool ?? 'several',
  row.provider === PROVIDER_PLACEHOLDER ? 'other domains' : (row.provider ?? 'others'),
]

const headline = ({ waiting, held, inFlight, oldestAt }: QueueSummary): string =>
  `${waiting} waiting, ${held} held, ${inFlight} in flight${
    oldestAt === null ? '' : `; oldest since ${formatInstant(oldestAt)} UTC`
  }`

/** Formats the counts by provider, then by age. */
export function describeCounts({ providers, ages, count }: QueueSummary): string[] {
  if (count === 0) return []
  const rows = providers.map(({ provider, waiting, held, inFlight, oldestAt }) => [
    ...[waiting, held, inFlight].map(String),
    formatInstant(oldestAt),
    provider,
  ])
  return [
    '',
    ...formatTable(['WAITING', 'HELD', 'IN FLIGHT', 'OLDEST', 'PROVIDER'], rows),
    '',
    ...formatTable(
      ['COUNT', 'AGE'],
      ages.map(({ count: many, from, to }) => [String(many), describeAge(from, to)]),
    ),
  ]
}

const span = (ms: number): string => (ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`)
const describeAge = (from: number, to: number | null): string =>
  to === null ? `${span(from)} and older` : from === 0 ? `under ${span(to)}` : `${span(from)} to ${span(to)}`

/** Formats a delivery: sender, progress and reason. */
export function describeDelivery(delivery: Delivery, waiting: Explanation | null | undefined): string[] {
  const { id, recipient, state, attempts, dueAt, cause } = delivery
  const about = cause?.category === undefined ? '' : `${cause.category}: `
  const reason = cause?.reply ? `${cause.note} (${cause.reply.code} ${cause.reply.text})` : cause?.note
  return [
    '',
    `${id}  ${recipient}`,
    `  ${state}, ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}, next ${formatInstant(dueAt)}`,
    ...(reason === undefined ? [] : [`  ${truncate(about + reason.replaceAll('\n', ' '), 76)}`]),
    ...(waiting ? wrapParagraph(waiting.why, 2) : []),
  ]
}

/** `queue show`: prints the history of an email of any team, by the ID of the email or of a queued delivery. */
export async function showQueue(context: Context, id: string): Promise<void> {
  const { storage, clock, output } = context
  const delivery = await openQueueControl(context).get({ id, teamId: undefined })
  const emailId = delivery?.emailId ?? id
  const found = await findEmail(context, emailId)
  if (!found)
    throw new Failure(
      `No email or queued delivery has the ID ${id}. For a finished delivery, use the ID of its email.`,
    )
  const { teamId, email } = found
  const history = await storage.getHistory({ teamId, id: emailId }, clock.now())
  const waiting = await openShaping(context).explain(history.deliveries)
  output.object(presentTimeline(email, history, waiting))
  output.text(...describeHistory(email, history, waiting))
}

/** Finds an email of any team: the operator may see all mail. */
async function findEmail(
  { storage, clock }: Context,
  id: string,
): Promise<{ teamId: string; email: Email } | undefined> {
  for (const { id: teamId } of await storage.listTeams({}, clock.now())) {
    const email = await storage.getEmail({ teamId, id }, clock.now())
    if (email) return { teamId, email }
  }
  return undefined
}
