/**
 * Moves a team's data from the hosted service (or another Posthaste server) through its API: domains, suppressions,
 * webhooks, names of API keys. Looks for each object here first, so that an interrupted move can be run again, and a
 * second run changes nothing.
 */
import { moveDomains } from './domains.ts'
import { moveKeys } from './keys.ts'
import { countOthers } from './others.ts'
import { KINDS, newTally, type Kind, type MoveDeps, type Report, type Tally } from './report.ts'
import { moveSuppressions } from './suppressions.ts'
import { moveWebhooks } from './webhooks.ts'

export { createHosted, HostedFailed, readBase, readKey } from './hosted.ts'
export { KINDS, type Kind, type Made, type NotTaken, type Report, type Tally } from './report.ts'
export { sharesReturnPath, zoneText } from './zone.ts'

/** Creates an empty report. */
export const newReport = (): Report => ({ tallies: {}, domains: [], notTaken: [] })

/**
 * Moves the requested kinds; when all are requested, also counts what can't be moved.
 * @param report updated along the way: when this rejects (`HostedFailed`), it says what was done until then
 */
export async function move(deps: MoveDeps, report: Report): Promise<void> {
  const movers: Record<Kind, (tally: Tally) => Promise<void>> = {
    domains: (tally) => moveDomains(deps, report, tally),
    suppressions: (tally) => moveSuppressions(deps, tally),
    webhooks: (tally) => moveWebhooks(deps, tally),
    keys: (tally) => moveKeys(deps, tally),
  }
  const { only } = deps.options
  for (const kind of KINDS.filter((one) => only.includes(one))) {
    const tally = (report.tallies[kind] = newTally())
    await movers[kind](tally)
  }
  if (only.length === KINDS.length) report.notTaken = await countOthers(deps.hosted)
}
