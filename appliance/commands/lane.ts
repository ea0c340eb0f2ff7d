import { describeLaneReason } from '../mail/waiting.ts'
import type { LaneSummary } from '../shaping/shaping.ts'
import { presentLane } from '../api/shaping.ts'
import { presentList } from '../api/shared.ts'
import type { Context } from './context.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'
import { openShaping } from './provider.ts'

/** `lane list`: prints the current limits of each lane, and their reasons. */
export async function listLanes(context: Context): Promise<void> {
  const { output } = context
  const lanes = await openShaping(context).lanes()
  output.object(presentList(lanes.map(presentLane)))
  if (lanes.length === 0) return output.text('No lanes yet.')
  output.text(...formatTable(['LANE', 'CONNECTIONS', 'PER MINUTE', 'STATE'], lanes.map(rowOf)))
  for (const { id, name, reason, reasonAt } of lanes)
    if (reason !== null)
      output.text(
        '',
        ...wrapParagraph(`${id}, ${formatInstant(reasonAt)} UTC: ${describeLaneReason(reason, name)}`),
      )
}

/** `lane pause`: stops new deliveries; those in flight finish. */
export async function pauseLane(
  context: Context,
  [id]: string[],
  { minutes }: { minutes?: number },
): Promise<void> {
  tell(context, await openShaping(context).pauseLane(id!, minutes ?? null))
}

/** `lane resume`: ends any pause, and removes the reduced limits that follow it. */
export async function resumeLane(context: Context, id: string): Promise<void> {
  tell(context, await openShaping(context).resumeLane(id))
}

function tell({ output }: Context, lane: LaneSummary): void {
  output.object(presentLane(lane))
  output.text(`${lane.id}: ${lane.reason === null ? 'open' : describeLaneReason(lane.reason, lane.name)}`)
}

function rowOf({ id, allowed, limits, paused, warmUp }: LaneSummary): string[] {
  const warm = warmUp === null ? '' : `warm-up day ${warmUp.day}, ${warmUp.sent} of ${warmUp.share}`
  const state =
    paused === null
      ? warm || 'open'
      : paused.until === null
        ? 'paused'
        : `paused until ${formatInstant(paused.until)}`
  return [
    id,
    `${allowed.connections} of ${limits.connections}`,
    `${Math.round(allowed.messagesPerMinute)} of ${limits.messagesPerMinute}`,
    state,
  ]
}
