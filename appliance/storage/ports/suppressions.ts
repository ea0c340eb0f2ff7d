/** Addresses that a team does not send to. */
import type { SuppressionOrigin } from '../../mail/suppression.ts'
import type { Page, PageArgs } from './page.ts'

export interface Suppression {
  id: string
  teamId: string
  /** As it was first given, the domain in A-labels. */
  email: string
  origin: SuppressionOrigin
  /** The email that bounced or was complained about; null for one put there by hand. */
  sourceId: string | null
  createdAt: number
}

/** Which ones are meant: by id, or by address in any case. */
export type SuppressionRef = { id: string } | { email: string }

export interface SuppressionStorage {
  /**
   * Adds those that are not there yet, all or none. Returns what is stored for each address, in the order given:
   * for an address that was suppressed before, the older entry.
   */
  addSuppressions(args: { teamId: string; suppressions: Suppression[] }, now: number): Promise<Suppression[]>
  /** Those of `addresses` (A-label domains, any case) that are suppressed; `address` is as asked. */
  findSuppressed(
    args: { teamId: string; addresses: string[] },
    now: number,
  ): Promise<(Suppression & { address: string })[]>
  getSuppression(args: { teamId: string; ref: SuppressionRef }, now: number): Promise<Suppression | undefined>
  listSuppressions(
    args: PageArgs & { origin?: SuppressionOrigin | undefined },
    now: number,
  ): Promise<Page<Suppression>>
  /** Removes those that are there, all in one transaction; returns them in the order asked. */
  removeSuppressions(args: { teamId: string; refs: SuppressionRef[] }, now: number): Promise<Suppression[]>
}
