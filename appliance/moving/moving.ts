/**
 * Moves a team's data from the hosted service (or another Posthaste server) through its API: domains, suppressions,
 * webhooks, names of API keys. Looks for each object here first, so that an interrupted move can be run again, and a
 * second run changes nothing.
 */
import { moveDomains } from './domains.ts'
import { moveKeys } from './keys.ts'
import { countOthers } from './others.ts'
import { KINDS, newMoveCount, type Kind, type MoveDeps, type Report, type MoveCount } from './report.ts'
import { moveSuppressions } from './suppressions.ts'
import { moveWebhooks } from './webhooks.ts'

export { createHosted, HostedFailed, readBase, readKey } from './hosted.ts'
export { KINDS, type Kind, type Made, type NotTaken, type Report, type MoveCount } from './report.ts'
export { sharesReturnPath, zoneText } from './zone.ts'

/** Creates an empty report. */
export const newReport = (): Report => ({ counts: {}, domains: [], notTaken: [] })

/**
 * Moves the requested kinds; when all are requested, also counts what can't be moved.
 * @param report updated along the way: when this rejects (`HostedFailed`), it says what was done until then
 */
export async function move(deps: MoveDeps, report: Report): Promise<void> {
  const movers: Record<Kind, (count: MoveCount) => Promise<void>> = {
    domains: (count) => moveDomains(deps, report, count),
    suppressions: (count) => moveSuppressions(deps, count),
    webhooks: (count) => moveWebhooks(deps, count),
    keys: (count) => moveKeys(deps, count),
  }
  const { only } = deps.options
  for (const kind of KINDS.filter((one) => only.includes(one))) {
    const count = (report.counts[kind] = newMoveCount())
    await movers[kind](count)
  }
  if (only.length === KINDS.length) report.notTaken = await countOthers(deps.hosted)
}
