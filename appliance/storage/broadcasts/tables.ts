/** The tables of broadcasts. For common column types, see schema.ts. */
import type { Generated } from 'kysely'
import type { BroadcastStatus, PauseReason, SkipReason } from '../../mail/broadcast.ts'

export interface BroadcastsTable {
  seq: Generated<number>
  id: string
  team_id: string
  name: string
  status: BroadcastStatus
  segment_id: string
  /** JSON: string[]. */
  exclude: string
  topic_id: string | null
  /** JSON: BroadcastContent. */
  content: string
  /** JSON: EmailDocument; null if the HTML was written as code. */
  document: string | null
  template_id: string | null
  edits: Generated<number>
  created_at: number
  updated_at: number
  scheduled_at: number | null
  started_at: number | null
  finished_at: number | null
  revision_id: string | null
  cursor: Generated<string>
  expanded_at: number | null
  expanded: Generated<number>
  enqueued: Generated<number>
  /** JSON: numbers by SkipReason. */
  skipped: Generated<string>
  paused_at: number | null
  pause_reason: PauseReason | null
  /** JSON: PauseFigures. */
  pause_figures: string | null
  resumed_at: number | null
  /** JSON: ProviderHolds; null if there is none. */
  holds: string | null
  problem: string | null
  tested_at: number | null
  /** JSON: BroadcastCounts. */
  counts: string | null
  /** JSON: BroadcastReach. */
  reach: string | null
  counted_at: number | null
  hourly_rate: number | null
  next_at: number | null
  archived_at: number | null
}

export interface BroadcastRevisionsTable {
  id: string
  broadcast_id: string
  team_id: string
  /** JSON: BroadcastRevision. */
  content: string
  created_at: number
}

export interface BroadcastVersionsTable {
  id: string
  team_id: string
  broadcast_id: string
  subject: string
  /** JSON: BroadcastContent. */
  content: string
  /** JSON: EmailDocument; null if the HTML was written as code. */
  document: string | null
  author: string
  created_at: number
  updated_at: number
}

export interface BroadcastRecipientsTable {
  broadcast: number
  contact_id: string
  bucket: string | null
  email_id: string | null
  skipped: SkipReason | null
  opens: Generated<number>
  clicks: Generated<number>
  unsubscribed: Generated<0 | 1>
  variant: number | null
}

export interface BroadcastAbTestsTable {
  broadcast_id: string
  /** JSON: string[]. */
  revisions: string
  cursor: Generated<string>
  seen: Generated<number>
  tested: Generated<number>
  drawn_at: number | null
  tried_at: number | null
  winner: number | null
  decided_at: number | null
  /** JSON: Choice. */
  choice: string | null
  /** JSON: VariantCounts[]. */
  counts: string | null
  counted_at: number | null
}

export interface BroadcastLinksTable {
  broadcast: number
  url: string
  clicks: number
  unique_clicks: number
}

export interface BroadcastClicksTable {
  broadcast: number
  contact_id: string
  url: string
  clicks: number
}

export interface ArchivesTable {
  team_id: string
  slug: string | null
  /** JSON: ArchiveSettings. */
  settings: string
  updated_at: number
}

export interface BroadcastTables {
  archives: ArchivesTable
  broadcasts: BroadcastsTable
  broadcast_revisions: BroadcastRevisionsTable
  broadcast_versions: BroadcastVersionsTable
  broadcast_recipients: BroadcastRecipientsTable
  broadcast_ab_tests: BroadcastAbTestsTable
  broadcast_links: BroadcastLinksTable
  broadcast_clicks: BroadcastClicksTable
}
