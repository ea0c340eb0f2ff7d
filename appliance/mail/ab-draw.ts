/**
 * Draws the recipients of an A/B test and assigns the variants to them. Pure: the same contacts always get the same
 * variants, so that a repeated step changes nothing.
 */
import { createHash } from 'node:crypto'

/** Progress of a draw. */
export interface DrawState {
  /** Number of recipients examined so far, and number of those that get a test email. */
  seen: number
  tested: number
}

/** A contact that gets a test email, with the index of its variant. */
export interface Drawn {
  contactId: string
  variant: number
}

/**
 * Draws from the next recipients. Draws the exact share of each chunk, in an order that looks random but depends only on
 * the broadcast and the contact, and assigns the variants in turn.
 *
 * @param args share: percent; variants: number of variants
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
