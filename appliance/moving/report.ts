/** What is told of a move while it goes on and at its end. */
import type { ExpectedRecord } from '../senders/records.ts'
import type { PublicKey, Senders } from '../senders/senders.ts'
import type { ApiKey, Domain, Permission, Webhook } from '../storage/storage.ts'
import type { Webhooks } from '../events/events.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Hosted } from './hosted.ts'
import type { HostedRecord } from './objects.ts'

/** What can be moved, in this order: keys may be bound to a domain. */
export const KINDS = ['domains', 'suppressions', 'webhooks', 'keys'] as const
export type Kind = (typeof KINDS)[number]

/** Something of the other side and what is to be said of it. */
export interface Remark {
  what: string
  text: string
}

/** How the objects of one kind fared. `there` is the sum of the other three. */
export interface Tally {
  /** On the other side. */
  there: number
  added: number
  /** Here already. */
  present: number
  leftOut: number
  /** Why, of the first hundred that were left out. */
  reasons: Remark[]
  /** Of those that were not left out: what is different here. */
  notes: Remark[]
}

/** A domain of the other side that is here now. */
export interface MovedDomain {
  domain: Domain
  /** What has to be published for it. */
  records: ExpectedRecord[]
  keys: PublicKey[]
  /** What the other side asks for. */
  theirs: HostedRecord[]
}

/** How many objects of a kind that this version does not take. */
export interface NotTaken {
  kind: string
  count: number
  /** Counting stopped: there are more. */
  more: boolean
}

export interface Report {
  tallies: Partial<Record<Kind, Tally>>
  domains: MovedDomain[]
  notTaken: NotTaken[]
}

/** Something was made or changed, a moment ago. Tokens and secrets are told here and nowhere else. */
export type Made =
  | { kind: 'domain'; domain: Domain }
  | { kind: 'suppressions'; added: number }
  | { kind: 'webhook'; webhook: Webhook }
  | { kind: 'webhook_enabled'; webhook: Webhook }
  | { kind: 'api_key'; key: ApiKey; token: string; domain: string | null }

export interface MoveOptions {
  only: readonly Kind[]
  /** Look and count, change nothing. */
  dryRun: boolean
  /** Label of the return path here, for all domains; without it the one that each has there. */
  returnPath?: string | undefined
  /** Of keys of which the other side does not tell it. */
  permission: Permission
  /** Webhooks that are enabled there are enabled here, too, also those that an earlier move has made. */
  enable: boolean
}

export interface MoveDeps {
  hosted: Hosted
  senders: Senders
  webhooks: Webhooks
  /** Whose all of it will be. */
  teamId: string
  options: MoveOptions
  /** Waited for before the next object is looked at. */
  made: (what: Made) => Promise<void>
  /** Unix milliseconds. */
  now: () => number
}

const MOST_REASONS = 100

/** Nothing was looked at yet. */
export function newTally(): Tally {
  return { there: 0, added: 0, present: 0, leftOut: 0, reasons: [], notes: [] }
}

/** Counts one as left out. */
export function leaveOut(tally: Tally, what: string, text: string): void {
  tally.leftOut += 1
  if (tally.reasons.length < MOST_REASONS) tally.reasons.push({ what, text })
}

/** Counts one as added once `work` is done; where it is refused, as left out with the sentence. */
export async function add(tally: Tally, what: string, work: () => Promise<void> | void): Promise<void> {
  try {
    await work()
    tally.added += 1
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    leaveOut(tally, what, error.message)
  }
}
