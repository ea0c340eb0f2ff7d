/**
 * Moves what a team has with the hosted service (or with another Posthaste) to here, through its API: domains, suppressions, webhooks,
 * the names of API keys. Each object is looked for here first, so a move that broke off is begun again and does the rest, and a second
 * one changes nothing.
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

/** Nothing was moved yet. */
export const newReport = (): Report => ({ tallies: {}, domains: [], notTaken: [] })

/**
 * Moves the kinds that are asked for; all of them, and what is not taken is counted.
 * @param report is filled as it goes on: where it rejects (`HostedFailed`), it tells what was done until then
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
