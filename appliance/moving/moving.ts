/**
 * Moves a team's data from the hosted service (or another Posthaste server) through its API: domains, suppressions,
 * webhooks, names of API keys, the audience, templates, broadcasts and automations. Checks whether each object already
 * exists here, so that an interrupted move can be repeated, and a second run changes nothing.
 */
import { moveAutomations } from './automations.ts'
import { moveBroadcasts } from './broadcasts.ts'
import { moveContacts } from './contacts.ts'
import { moveDomains } from './domains.ts'
import { moveKeys } from './keys.ts'
import { moveEvents, moveProperties, moveSegments, moveTopics } from './lists.ts'
import { createRefs } from './refs.ts'
import { KINDS, newMoveCount, type Kind, type MoveDeps, type Report, type MoveCount } from './report.ts'
import { moveSuppressions } from './suppressions.ts'
import { moveTemplates } from './templates.ts'
import { moveWebhooks } from './webhooks.ts'

export { EXPORTERS, openExport, type Exporter, type OpenedExport } from './exports.ts'
export { MAX_EXPORT, type ExportFile } from './files.ts'
export { createHosted, HostedFailed, readBase, readKey } from './hosted.ts'
export { KINDS, type Kind, type Made, type Report, type MoveCount } from './report.ts'
export { sharesReturnPath, zoneText } from './zone.ts'

/** Creates an empty report. */
export const newReport = (): Report => ({ counts: {}, domains: [] })

/**
 * Moves the requested kinds.
 * @param report updated during the move, so that it shows what was done even when this rejects (`HostedFailed`)
 */
export async function move(deps: MoveDeps, report: Report): Promise<void> {
  const refs = createRefs(deps)
  const movers: Record<Kind, (count: MoveCount) => Promise<void>> = {
    domains: (count) => moveDomains(deps, report, count),
    suppressions: (count) => moveSuppressions(deps, count),
    webhooks: (count) => moveWebhooks(deps, count),
    keys: (count) => moveKeys(deps, count),
    properties: (count) => moveProperties(deps, count),
    segments: (count) => moveSegments(deps, count),
    topics: (count) => moveTopics(deps, count),
    contacts: (count) => moveContacts(deps, refs, count),
    templates: (count) => moveTemplates(deps, count),
    broadcasts: (count) => moveBroadcasts(deps, refs, count),
    events: (count) => moveEvents(deps, count),
    automations: (count) => moveAutomations(deps, refs, count),
  }
  const { only } = deps.options
  for (const kind of KINDS.filter((one) => only.includes(one))) {
    const count = (report.counts[kind] = newMoveCount())
    await movers[kind](count)
  }
}
