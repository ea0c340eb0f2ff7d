/** Segments of the contacts that opened or clicked a broadcast, to leave them out of a follow-up. */
import { MOST_RULED } from '../audience/audience.ts'
import type { Clock } from '../clock/clock.ts'
import type { Deed } from '../mail/broadcast.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Rule } from '../mail/rules.ts'
import type { Broadcast, Storage } from '../storage/storage.ts'

/** Maximum length of the broadcast's name in the name of the segment. */
const MAX_NAME = 200

/**
 * Returns the id of the segment of those who did this. It has a rule, so it includes those who do it later. Creates it
 * unless there is one with the same rule. Refuses: `too_many`.
 */
export async function segmentOfDeed(
  { storage, clock }: { storage: Pick<Storage, 'listSegments' | 'createSegment'>; clock: Clock },
  { id: broadcastId, teamId, name: of }: Broadcast,
  deed: Deed,
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
  if (!(await storage.createSegment({ segment, most: MOST_RULED }, now)))
    throw refuse('too_many', { limit: MOST_RULED, things: 'segments with rules' })
  return segment.id
}
