import type { Delivery, QueueFilter } from '../storage/storage.ts'
import { presentDelivery, presentList, presentTimeline, timestampOrNull } from '../wireformat/wireformat.ts'
import { Failure, type Context } from './context.ts'
import { instant, shorten } from './output.ts'
import { describeHistory } from './queue-text.ts'

/** The filter options of the queue commands. */
export interface QueueOptions {
  domain?: string
  email?: string
  id?: string
  state?: 'waiting' | 'held'
  all?: boolean
  limit?: number
}

const filterOf = ({ domain, email, id, state }: QueueOptions): QueueFilter => ({
  domain: domain?.toLowerCase(),
  emailId: email,
  deliveryId: id,
  state,
})

/** `queue list`: what waits, and why. */
export async function listQueue({ storage, clock, output }: Context, options: QueueOptions): Promise<void> {
  const limit = options.limit ?? 100
  const [summary, found] = await Promise.all([
    storage.queueSummary({}, clock.now()),
    storage.listQueue({ ...filterOf(options), limit: limit + 1 }, clock.now()),
  ])
  const shown = found.slice(0, limit)
  output.object({
    ...presentList(shown.map(presentDelivery), found.length > limit),
    summary: {
      waiting: summary.waiting,
      held: summary.held,
      in_flight: summary.inFlight,
      oldest_at: timestampOrNull(summary.oldestAt),
    },
  })
  output.text(
    `${summary.waiting} waiting, ${summary.held} held, ${summary.inFlight} in flight${
      summary.oldestAt === null ? '' : `; the oldest since ${instant(summary.oldestAt)} UTC`
    }`,
    ...shown.flatMap(describeDelivery),
    ...(found.length > limit ? ['', `The first ${limit} are shown; --limit shows more.`] : []),
  )
}

function describeDelivery({ id, recipient, state, attempts, dueAt, cause }: Delivery): string[] {
  const reason = cause?.reply ? `${cause.note} (${cause.reply.code} ${cause.reply.text})` : cause?.note
  return [
    '',
    `${id}  ${recipient}`,
    `  ${state}, ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}, next ${instant(dueAt)}`,
    ...(reason === undefined ? [] : [`  ${shorten(reason.replaceAll('\n', ' '), 76)}`]),
  ]
}

/** `queue show`: the whole history of one email, named by its own id or by that of a waiting delivery. */
export async function showQueue({ storage, clock, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  const [delivery] = await storage.listQueue({ teamId, deliveryId: id, limit: 1 }, clock.now())
  const emailId = delivery?.emailId ?? id
  const email = await storage.getEmail({ teamId, id: emailId }, clock.now())
  if (!email)
    throw new Failure(
      `There is no email and no waiting delivery with the id ${id}. Finished deliveries: use the email's id.`,
    )
  const history = await storage.getHistory({ teamId, id: emailId }, clock.now())
  output.object(presentTimeline(emailId, history))
  output.text(...describeHistory(email, history))
}

/** What the changing commands do, and how they say it. */
const changes = {
  hold: { method: 'holdQueue', done: 'held' },
  release: { method: 'releaseQueue', done: 'released' },
  retry: { method: 'retryQueue', done: 'due now' },
  drop: { method: 'dropQueue', done: 'given up' },
} as const

export type QueueChange = keyof typeof changes

/** `queue hold|release|retry|drop`: acts on every delivery that the filter names. */
export async function changeQueue(
  { storage, clock, output }: Context,
  change: QueueChange,
  options: QueueOptions,
): Promise<void> {
  const filter = filterOf(options)
  // Dropped mail does not come back: a forgotten option must not empty the queue.
  if (change === 'drop' && !options.all && Object.values(filter).every((value) => value === undefined))
    throw new Failure(
      'This would give up everything that waits. Name --domain, --email, --id or --state, or say --all.',
    )
  const { method, done } = changes[change]
  const count = await storage[method](filter, clock.now())
  output.object({ object: 'queue_change', change, count })
  output.text(`${count === 1 ? '1 delivery is' : `${count} deliveries are`} ${done}.`)
}
