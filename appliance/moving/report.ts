/** The progress and result of a move. */
import type { ExpectedRecord } from '../senders/records.ts'
import type { PublicKey, Senders } from '../senders/senders.ts'
import type { ApiKey, Domain, Permission, Webhook } from '../storage/storage.ts'
import type { ContactOperations } from '../audience/audience.ts'
import type { AutomationOperations, CustomEvents } from '../automations/operations.ts'
import type { BroadcastOperations } from '../broadcasts/operations.ts'
import type { Webhooks } from '../events/events.ts'
import type { AuditAction } from '../mail/audit.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Templates } from '../templates/templates.ts'
import { HostedError, type HostedClient } from './hosted.ts'
import type { HostedRecord } from './objects.ts'

/**
 * The kinds of objects that can be moved, in this order: keys may be restricted to a domain, contacts are in segments,
 * automations send templates.
 */
export const OBJECT_KINDS = [
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
export type ObjectKind = (typeof OBJECT_KINDS)[number]

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
  /** Reasons why objects were skipped: the first hundred. */
  reasons: Remark[]
  /** Differences between the hosted service and this server for objects that weren't skipped. */
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

export interface MoveReport {
  counts: Partial<Record<ObjectKind, MoveCount>>
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
export type CreatedObject =
  | { kind: 'domain'; domain: Domain }
  | { kind: 'suppressions'; added: number }
  | { kind: 'webhook'; webhook: Webhook }
  | { kind: 'webhook_enabled'; webhook: Webhook }
  | { kind: 'contacts'; added: number; updated: number }
  | { kind: 'stored'; action: StoredAction; id: string; name: string }
  | { kind: 'api_key'; key: ApiKey; token: string; domain: string | null }

export interface MoveOptions {
  only: readonly ObjectKind[]
  /** Whether to only count, without changing anything. */
  dryRun: boolean
  /** Label of the return path for all domains here. Default: the label that each domain has in the hosted service. */
  returnPath?: string | undefined
  /** Permission for keys whose permission the hosted service doesn't report. */
  permission: Permission
  /** Whether to enable webhooks that are enabled in the hosted service, including webhooks from an earlier move. */
  enable: boolean
  /** Whether to change existing objects to match the hosted service. Never reverses an opt-out. */
  overwrite: boolean
}

export interface MoveDeps {
  hosted: HostedClient
  senders: Senders
  webhooks: Webhooks
  contacts: ContactOperations
  templates: Templates
  broadcasts: BroadcastOperations
  automations: AutomationOperations
  customEvents: CustomEvents
  /** Author of the templates, as shown with their versions. */
  author: string
  /** Reports progress to the user during long waits. */
  tell: (line: string) => void
  /** ID of the team that will own all objects. */
  teamId: string
  options: MoveOptions
  /** Called for each object that was created or changed, and awaited before the next one. */
  made: (what: CreatedObject) => Promise<void>
  /** Unix milliseconds. */
  now: () => number
}

const MOST_REASONS = 100

/** Creates an empty count. */
export function newMoveCount(): MoveCount {
  return { there: 0, added: 0, present: 0, updated: 0, leftOut: 0, reasons: [], notes: [] }
}

/** Counts an object as skipped. */
export function countSkipped(count: MoveCount, what: string, text: string): void {
  count.leftOut += 1
  if (count.reasons.length < MOST_REASONS) count.reasons.push({ what, text })
}

/** Runs `work`. Counts the object as added or, if it is refused, as skipped, with the error message as the reason. */
export async function tryAdd(
  count: MoveCount,
  what: string,
  work: () => Promise<void> | void,
): Promise<void> {
  try {
    await work()
    count.added += 1
  } catch (error) {
    countSkipped(count, what, reasonToSkip(error))
  }
}

/**
 * Runs `work` on an existing object. Counts the object as changed if `work` returns true, and as skipped if it is
 * refused.
 */
export async function tryChange(count: MoveCount, what: string, work: () => Promise<boolean>): Promise<void> {
  try {
    if (await work()) count.updated += 1
    count.present += 1
  } catch (error) {
    countSkipped(count, what, reasonToSkip(error))
  }
}

/** Returns why an object is skipped. Rethrows an error that doesn't concern only this object. */
function reasonToSkip(error: unknown): string {
  if (error instanceof Refusal) return error.message
  // The object was deleted after the list was read.
  if (error instanceof HostedError && error.status === 404) return 'the hosted API no longer has it'
  throw error
}
