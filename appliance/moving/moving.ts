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
import { createIdLookups } from './refs.ts'
import {
  OBJECT_KINDS,
  newMoveCount,
  type ObjectKind,
  type MoveDeps,
  type MoveReport,
  type MoveCount,
} from './report.ts'
import { moveSuppressions } from './suppressions.ts'
import { moveTemplates } from './templates.ts'
import { moveWebhooks } from './webhooks.ts'

export { EXPORTERS, parseExport, type Exporter, type ParsedExport } from './exports.ts'
export { MAX_EXPORT, type ExportFile } from './files.ts'
export { createHostedClient, HostedError, parseBaseUrl, validateKey } from './hosted.ts'
export {
  OBJECT_KINDS,
  type ObjectKind,
  type CreatedObject,
  type MoveReport,
  type MoveCount,
} from './report.ts'
export { sharesReturnPath, formatZoneFile } from './zone.ts'

/** Creates an empty report. */
export const newMoveReport = (): MoveReport => ({ counts: {}, domains: [] })

/**
 * Moves the requested kinds.
 * @param report updated during the move, so that it shows what was done even when this rejects (`HostedError`)
 */
export async function moveObjects(deps: MoveDeps, report: MoveReport): Promise<void> {
  const refs = createIdLookups(deps)
  const movers: Record<ObjectKind, (count: MoveCount) => Promise<void>> = {
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
  for (const kind of OBJECT_KINDS.filter((one) => only.includes(one))) {
    const count = (report.counts[kind] = newMoveCount())
    await movers[kind](count)
  }
}
