/** Erasing one person's data by address, in steps that never hold the writer for long; the erasure itself is the receipt. */
import type { Actor, ActorKind } from '../../mail/audit.ts'
import type { ErasureCounts } from '../../mail/erasure.ts'
import type { Page, PageArgs } from './page.ts'

export type { ErasureCounts, ErasureKind } from '../../mail/erasure.ts'

/** What was erased, without saying whose address it was. */
export interface Erasure {
  id: string
  teamId: string
  /** `addressHash` of the address. */
  hash: string
  actor: string
  actorKind: ActorKind
  createdAt: number
  /** Null while the work goes on. */
  finishedAt: number | null
  counts: ErasureCounts
}

/** What is looked through, in this order. */
export const ERASURE_PHASES = [
  'queue',
  'emails',
  'requests',
  'webhook_deliveries',
  'webhook_attempts',
  'receipts',
  'returned',
  'postmaster',
  'suppressions',
] as const
export type ErasurePhase = (typeof ERASURE_PHASES)[number]

/** A look at what an erasure would do, in steps. */
export interface ErasureSurveyArgs {
  teamId: string
  address: string
  /** Where the step begins; without it, at the start. */
  from?: { phase: ErasurePhase; after: string } | undefined
}

export interface ErasureSurvey {
  counts: ErasureCounts
  /** Where the next step begins; null when all was looked through. */
  next: { phase: ErasurePhase; after: string } | null
}

export interface ErasureStorage {
  /** Writes an erasure down, and that it began into the audit log. One of the same address that goes on is returned instead. */
  beginErasure(
    args: { id: string; teamId: string; address: string; actor: Actor },
    now: number,
  ): Promise<Erasure>
  /** Does one step; `finishedAt` tells whether it was the last. Undefined when there is no such erasure. */
  eraseStep(args: { id: string }, now: number): Promise<Erasure | undefined>
  /** Counts in one step what an erasure would touch, and changes nothing. */
  surveyErasure(args: ErasureSurveyArgs, now: number): Promise<ErasureSurvey>
  getErasure(args: { teamId: string; id: string }, now: number): Promise<Erasure | undefined>
  /** Newest first. */
  listErasures(args: PageArgs, now: number): Promise<Page<Erasure>>
  /** Ids of those that were begun and not finished, of all teams, oldest first. */
  unfinishedErasures(args: object, now: number): Promise<string[]>
}
