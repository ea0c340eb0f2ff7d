/** Results of A/B tests, and manual choice of the winner. */
import { isId } from '../mail/ids.ts'
import { type VariantCounts, type VariantName, VARIANTS, WHOLE } from '../mail/ab-test.ts'
import { refuse } from '../mail/refusals.ts'
import type { AbTestState, Broadcast, BroadcastRef } from '../storage/storage.ts'
import { type BroadcastDeps, broadcastNotFound } from './drafts.ts'

/** The test of a broadcast that has started, with fresh numbers. */
export interface AbTestResult extends Omit<AbTestState, 'counts'> {
  counts: VariantCounts[]
}

export interface AbTestMethods {
  /** Returns the results of a broadcast's A/B test, at most 10 s old; null without a test, and before it starts. */
  abTestResult(broadcast: Broadcast): Promise<AbTestResult | null>
  /**
   * Sends a variant to the rest now, even while test emails are waiting. The choice is final.
   *
   * @param args variant: its name
   *
   * Refuses: `not_found`, `invalid_field` (variant), `ab_test_over`.
   */
  chooseVariant(args: BroadcastRef & { variant: string }): Promise<void>
  /** Returns the name of an email's variant; null if the broadcast has no A/B test. */
  variantOfEmail(args: { emailId: string }): Promise<VariantName | null>
}

/** Maximum age of counts, and how long after a broadcast they are updated, in milliseconds. */
const FRESH_MS = 10_000
const COUNTED_MS = 7 * 24 * 3_600_000

/**
 * Creates the methods.
 *
 * @param changed called when there is work to do
 */
export function abTestMethods({ storage, clock }: BroadcastDeps, changed: () => void): AbTestMethods {
  return {
    async abTestResult({ id, content, revisionId, finishedAt }) {
      if (!content.abTest || revisionId === null) return null
      const now = clock.now()
      const test = await storage.getAbTest({ id }, now)
      if (!test) return null
      const { counts, countedAt } = test
      const over = finishedAt !== null && now - finishedAt > COUNTED_MS
      if (counts && countedAt !== null && (over || Math.abs(now - countedAt) < FRESH_MS))
        return { ...test, counts }
      const fresh = await storage.countVariants({ id }, now)
      await storage.saveVariantCounts({ id, counts: fresh }, now)
      return { ...test, counts: fresh, countedAt: now }
    },
    async chooseVariant({ variant, ...ref }) {
      const broadcast = isId(ref.id) ? await storage.getBroadcast(ref, clock.now()) : undefined
      if (!broadcast) throw broadcastNotFound()
      const { abTest } = broadcast.content
      if (!abTest || abTest.share === WHOLE) throw refuse('ab_test_over')
      const names: readonly string[] = VARIANTS.slice(0, abTest.variants.length + 1)
      const winner = names.indexOf(variant.toUpperCase())
      if (winner < 0) throw refuse('invalid_field', { field: 'variant', expected: names.join(', ') })
      const counts = await storage.countVariants({ id: ref.id }, clock.now())
      const choice = { winner, reason: 'person' as const, counts }
      const answer = await storage.decideAbTest({ ...ref, choice }, clock.now())
      if (answer !== 'done') throw refuse('ab_test_over')
      changed()
    },
    async variantOfEmail(args) {
      const index = await storage.variantOfEmail(args, clock.now())
      return index === null ? null : VARIANTS[index]!
    },
  }
}
