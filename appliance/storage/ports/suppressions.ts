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
  /** Why, in one sentence; null where nobody said. */
  reason: string | null
  /** What the mail server said, as one line; null: no server said it. */
  reply: string | null
  /** When the address was last taken off the list before it came back (Unix milliseconds); null: it never was. */
  removedAt: number | null
  createdAt: number
}

/** An entry that is to be made; whether the address was on the list before, the storage knows. */
export type NewSuppression = Omit<Suppression, 'removedAt' | 'reason' | 'reply'> &
  Partial<Pick<Suppression, 'reason' | 'reply'>>

/** Somebody complained about an email. */
export interface Complaint {
  teamId: string
  /** The delivery that brought it to them. */
  deliveryId: string
  /** Who told us, in a sentence. */
  reason: string
  /** Whether the address goes onto the list. */
  suppress: boolean
}

/** Which ones are meant: by id, or by address in any case. */
export type SuppressionRef = { id: string } | { email: string }

export interface SuppressionStorage {
  /**
   * Adds those that are not there yet, all or none, at most 500. Returns what is stored for each address, in the order
   * given: for an address that was suppressed before, the older entry. Records `suppression.added` for each unless `quiet`.
   */
  addSuppressions(
    args: { teamId: string; suppressions: NewSuppression[]; quiet?: boolean },
    now: number,
  ): Promise<Suppression[]>
  /** Those of `addresses` (A-label domains, any case) that are suppressed; `address` is as asked. */
  findSuppressed(
    args: { teamId: string; addresses: string[] },
    now: number,
  ): Promise<(Suppression & { address: string })[]>
  getSuppression(args: { teamId: string; ref: SuppressionRef }, now: number): Promise<Suppression | undefined>
  /** `search`: only addresses that contain this, in any case. */
  listSuppressions(
    args: PageArgs & { origin?: SuppressionOrigin | undefined; search?: string | undefined },
    now: number,
  ): Promise<Page<Suppression>>
  /**
   * Removes those that are there, all in one transaction; returns them in the order asked. It is remembered: an address that comes back
   * says when it was removed. Records `suppression.removed`.
   */
  removeSuppressions(args: { teamId: string; refs: SuppressionRef[] }, now: number): Promise<Suppression[]>
  /**
   * Records `email.complained` for a delivery, and puts its address onto the list where that is asked for, in one transaction.
   * `known`: it was complained about before; `unknown`: the team has no such delivery. Then nothing was changed.
   */
  complain(args: Complaint, now: number): Promise<'recorded' | 'known' | 'unknown'>
}
