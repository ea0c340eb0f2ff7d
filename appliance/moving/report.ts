/** The progress and result of a move. */
import type { ExpectedRecord } from '../senders/records.ts'
import type { PublicKey, Senders } from '../senders/senders.ts'
import type { ApiKey, Domain, Permission, Webhook } from '../storage/storage.ts'
import type { ContactBook } from '../audience/audience.ts'
import type { AutomationBook, CustomEvents } from '../automations/book.ts'
import type { BroadcastBook } from '../broadcasts/book.ts'
import type { Webhooks } from '../events/events.ts'
import type { AuditAction } from '../mail/audit.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Templates } from '../templates/templates.ts'
import { HostedFailed, type Hosted } from './hosted.ts'
import type { HostedRecord } from './objects.ts'

/**
 * The kinds of objects that can be moved, in this order: keys may be restricted to a domain, contacts are in segments,
 * automations send templates.
 */
export const KINDS = [
  'domains',
  'suppressions',
  'webhooks',
  'keys',
  'properties',
  'segments',
  'topics',
  'contacts',
  'templates',
  'broadcasts',
  'events',
  'automations',
] as const
export type Kind = (typeof KINDS)[number]

/** An object of the hosted service, and a remark about it. */
export interface Remark {
  what: string
  text: string
}

/** The counts for one kind. `there` is the sum of the added, existing and skipped objects. */
export interface MoveCount {
  /** Number of objects in the hosted service. */
  there: number
  added: number
  /** Already here. */
  present: number
  /** Number of existing objects that were changed. */
  updated: number
  leftOut: number
  /** Reasons why objects were skipped; the first hundred. */
  reasons: Remark[]
  /** Differences here for objects that weren't skipped. */
  notes: Remark[]
}

/** A domain of the hosted service that now exists here. */
export interface MovedDomain {
  domain: Domain
  /** The records to publish for the domain. */
  records: ExpectedRecord[]
  keys: PublicKey[]
  /** The records that the hosted service requires. */
  theirs: HostedRecord[]
}

export interface Report {
  counts: Partial<Record<Kind, MoveCount>>
  domains: MovedDomain[]
}

/** The audit actions for objects that are stored without a secret. */
type StoredAction = Extract<
  AuditAction,
  | `${'contact_property' | 'topic' | 'template' | 'broadcast' | 'event' | 'automation'}.${'create' | 'update'}`
  | 'segment.create'
  | 'template.publish'
>

/** An object that was just created or changed. Its tokens and secrets are only available here. */
export type Made =
  | { kind: 'domain'; domain: Domain }
  | { kind: 'suppressions'; added: number }
  | { kind: 'webhook'; webhook: Webhook }
  | { kind: 'webhook_enabled'; webhook: Webhook }
  | { kind: 'contacts'; added: number; updated: number }
  | { kind: 'stored'; action: StoredAction; id: string; name: string }
  | { kind: 'api_key'; key: ApiKey; token: string; domain: string | null }

export interface MoveOptions {
  only: readonly Kind[]
  /** Whether to count only, and change nothing. */
  dryRun: boolean
  /** Label of the return path for all domains here. Default: the label that each domain has in the hosted service. */
  returnPath?: string | undefined
  /** Permission of keys whose permission the hosted service doesn't report. */
  permission: Permission
  /** Whether to enable webhooks that are enabled in the hosted service, including webhooks from an earlier move. */
  enable: boolean
  /** Whether to change existing objects to match the hosted service. Lifts no opt-out. */
  overwrite: boolean
}

export interface MoveDeps {
  hosted: Hosted
  senders: Senders
  webhooks: Webhooks
  contacts: ContactBook
  templates: Templates
  broadcasts: BroadcastBook
  automations: AutomationBook
  customEvents: CustomEvents
  /** Author of the templates, as shown with their versions. */
  author: string
  /** Tells the user about progress, so that a long wait isn't silent. */
  tell: (line: string) => void
  /** ID of the team that will own all objects. */
  teamId: string
  options: MoveOptions
  /** Called for each object that was created or changed, and awaited before the next one. */
  made: (what: Made) => Promise<void>
  /** Unix milliseconds. */
  now: () => number
}

const MOST_REASONS = 100

/** Creates an empty count. */
export function newMoveCount(): MoveCount {
  return { there: 0, added: 0, present: 0, updated: 0, leftOut: 0, reasons: [], notes: [] }
}

/** Counts an object as skipped. */
export function leaveOut(count: MoveCount, what: string, text: string): void {
  count.leftOut += 1
  if (count.reasons.length < MOST_REASONS) count.reasons.push({ what, text })
}

/** Runs `work` and counts the object as added or, when it is refused, as skipped with the sentence. */
export async function add(count: MoveCount, what: string, work: () => Promise<void> | void): Promise<void> {
  try {
    await work()
    count.added += 1
  } catch (error) {
    leaveOut(count, what, reasonToSkip(error))
  }
}

/**
 * Runs `work` on an existing object. Counts the object as changed if `work` returns true, and as skipped if it is
 * refused.
 */
export async function change(count: MoveCount, what: string, work: () => Promise<boolean>): Promise<void> {
  try {
    if (await work()) count.updated += 1
    count.present += 1
  } catch (error) {
    leaveOut(count, what, reasonToSkip(error))
  }
}

/** Returns why an object is skipped. Rethrows an error that doesn't concern only this object. */
function reasonToSkip(error: unknown): string {
  if (error instanceof Refusal) return error.message
  // The object was deleted after the list was read.
  if (error instanceof HostedFailed && error.status === 404) return 'the hosted API no longer has it'
  throw error
}
