/**
 * Draws the recipients of an A/B test and deals the variants among them. Pure: the same contacts always get the same
 * variants, so that a repeated step changes nothing.
 */
import { createHash } from 'node:crypto'

/** How far a draw is. */
export interface DrawState {
  /** Recipients that were looked at, and those of them that get a test email. */
  seen: number
  tested: number
}

/** A contact that gets a test email, with the index of its variant. */
export interface Drawn {
  contactId: string
  variant: number
}

/**
 * Draws from the next recipients. Of each part, the exact share is drawn, in an order that looks random but depends only
 * on the broadcast and the contact; the variants take turns.
 *
 * @param args share: percent; variants: how many there are
 */
export function drawVariants(
  contactIds: readonly string[],
  { seen, tested }: DrawState,
  { broadcastId, share, variants }: { broadcastId: string; share: number; variants: number },
): Drawn[] {
  const goal = Math.round(((seen + contactIds.length) * share) / 100)
  return contactIds
    .map((contactId) => ({ contactId, place: placeOf(broadcastId, contactId) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .slice(0, Math.max(0, goal - tested))
    .map(({ contactId }, turn) => ({ contactId, variant: (tested + turn) % variants }))
}

const placeOf = (broadcastId: string, contactId: string): string =>
  createHash('sha256').update(`${broadcastId} ${contactId}`).digest('hex')
