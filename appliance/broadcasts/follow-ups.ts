/** Creates segments of the contacts that opened or clicked a broadcast, so that a follow-up can exclude them. */
import { MAX_SEGMENTS_WITH_RULES } from '../audience/audience.ts'
import type { Clock } from '../clock/clock.ts'
import type { BroadcastAction } from '../mail/broadcast.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Rule } from '../mail/rules.ts'
import type { Broadcast, Storage } from '../storage/storage.ts'

/** Maximum length of the broadcast's name in the name of the segment. */
const MAX_NAME = 200

/**
 * Returns the ID of the segment of contacts that opened or clicked the broadcast. The segment has a rule, so it
 * includes contacts that do so later. Creates the segment unless there is one with the same rule. Refuses: `too_many`.
 */
export async function findOrCreateActionSegment(
  { storage, clock }: { storage: Pick<Storage, 'listSegments' | 'createSegment'>; clock: Clock },
  { id: broadcastId, teamId, name: of }: Broadcast,
  deed: BroadcastAction,
): Promise<string> {
  const now = clock.now()
  const rule: Rule = {
    type: 'rule',
    field: `contact.broadcasts.${broadcastId}`,
    operator: 'eq',
    value: deed,
  }
  const same = JSON.stringify(rule)
  const known = (await storage.listSegments({ teamId }, now)).find(
    ({ filter }) => JSON.stringify(filter) === same,
  )
  if (known) return known.id
  const name = `${deed === 'clicked' ? 'Clicked' : 'Opened'}: ${of.slice(0, MAX_NAME).toWellFormed()}`
  const segment = { id: newId(now), teamId, name, filter: rule, createdAt: now, updatedAt: now }
  if (!(await storage.createSegment({ segment, most: MAX_SEGMENTS_WITH_RULES }, now)))
    throw refuse('too_many', { limit: MAX_SEGMENTS_WITH_RULES, things: 'segments with rules' })
  return segment.id
}
