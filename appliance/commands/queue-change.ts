import type { Actor } from '../mail/audit.ts'
import { matchesEverything, type QueueChange, type QueuePreview } from '../queue/queue.ts'
import { presentQueueChange, presentQueuePreview } from '../api/queue-changes.ts'
import { presentDelivery } from '../api/timeline.ts'
import { Failure, type Context } from './context.ts'
import { confirmOnTerminal, formatInstant } from './output.ts'
import {
  openQueueControl,
  describeCounts,
  describeDelivery,
  buildQueueFilter,
  type QueueOptions,
} from './queue.ts'
import type { QueueAction } from '../mail/queue.ts'
import { systemUserName } from './failure.ts'

/** The options of commands that change the queue, in addition to the filter. */
export interface ChangeOptions extends QueueOptions {
  dryRun?: boolean
  all?: boolean
  yes?: boolean
  new?: boolean
  to?: string
}

/** Phrases for each action, such as `2 deliveries are held`. */
const WORDS: Record<QueueAction, { would: string; done: string }> = {
  hold: { would: 'would be held', done: 'held' },
  release: { would: 'would be released', done: 'released' },
  retry: { would: 'would be retried now', done: 'due now' },
  reroute: { would: 'would be moved', done: 'moved' },
  expire: { would: 'would expire', done: 'expired' },
  drop: { would: 'would be dropped', done: 'dropped' },
}

/** Actions that can't be undone. */
const FINAL: readonly QueueAction[] = ['expire', 'drop']

/** `queue hold|release|retry|reroute|expire|drop`: acts on every delivery that matches the filter. */
export async function changeQueue(
  context: Context,
  action: QueueAction,
  options: ChangeOptions,
): Promise<void> {
  const control = openQueueControl(context)
  const filter = await buildQueueFilter(options, context)
  // These actions are final, so a forgotten filter option must not empty the queue.
  if (FINAL.includes(action) && !options.all && matchesEverything(filter))
    throw new Failure('This would end all queued deliveries. Add a condition such as --domain, or use --all.')
  const act = { action, filter, pool: options.to, all: options.all, keep: options.new }
  if (options.dryRun) return showPreview(context, action, await control.preview(act))
  const asks = FINAL.includes(action) && !options.yes
  if (asks && !process.stdin.isTTY)
    throw new Failure('This cannot be undone. Preview it with --dry-run, then confirm with --yes.')
  let expectedCount: number | undefined
  if (asks) {
    const preview = await control.preview(act)
    await showPreview(context, action, preview)
    expectedCount = preview.count
    if (preview.count === 0 || !(await confirmOnTerminal(`End ${many(preview.count)}?`)))
      throw new Failure('Canceled. Nothing was changed.')
  }
  tell(context, await control.act({ ...act, expectedCount }, getCommandLineActor()))
}

/** `queue undo`: reverts the action of an audit entry. */
export async function undoQueue(context: Context, auditId: string): Promise<void> {
  tell(context, await openQueueControl(context).undo({ auditId, teamId: undefined }, getCommandLineActor()))
}

/** Returns the person at the command line as an actor for the audit log. */
export function getCommandLineActor(): Actor {
  return { kind: 'command', name: process.env.SUDO_USER ?? systemUserName(), ip: null }
}

const many = (count: number): string => (count === 1 ? '1 delivery' : `${count} deliveries`)

async function showPreview(context: Context, action: QueueAction, preview: QueuePreview): Promise<void> {
  const { count, oldestAt, newestAt, sample, domains } = preview
  context.output.object(
    presentQueuePreview(
      action,
      preview,
      sample.map((one) => presentDelivery(one)),
    ),
  )
  const since =
    count === 0 ? '' : `, accepted from ${formatInstant(oldestAt)} to ${formatInstant(newestAt)} UTC`
  context.output.text(
    `${many(count)} ${WORDS[action].would}${since}.`,
    ...describeCounts(preview),
    ...(domains.length > 0
      ? ['', `Domains: ${domains.map((one) => `${one.domain} (${one.count})`).join(', ')}`]
      : []),
    ...sample.flatMap((one) => describeDelivery(one, null)),
  )
}

function tell({ output }: Context, change: QueueChange): void {
  const { action, count, auditId, rule } = change
  output.object(presentQueueChange(change))
  output.text(`${many(count)} ${count === 1 ? 'is' : 'are'} ${WORDS[action].done}.`)
  if (rule)
    output.text(
      action === 'hold' ? 'New mail that matches is also held.' : 'New mail that matches is no longer held.',
    )
  if (['hold', 'release', 'reroute'].includes(action) && (count > 0 || rule))
    output.text(`Undo: posthaste queue undo ${auditId}`)
}
