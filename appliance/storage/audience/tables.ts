/** The tables of an audience. For common column types, see schema.ts. */
import type { PageLanguage } from '../../mail/unsubscribe-page.ts'
import type { Generated } from 'kysely'
import type { Encoding, ImportStatus, ConflictAction, Separator } from '../../mail/contact-import.ts'
import type { ConsentOrigin, PropertyType, Subscription, Visibility } from '../../mail/audience.ts'

export interface ContactsTable {
  id: string
  team_id: string
  email: string
  /** The address, normalized by `toSuppressionKey`. */
  address_key: string
  first_name: string | null
  last_name: string | null
  /** JSON: values by property label. */
  properties: string
  unsubscribed_at: number | null
  unsubscribed_by: ConsentOrigin | null
  created_by: ConsentOrigin
  created_from: string | null
  created_at: number
  updated_at: number
  /** When a person last opened or clicked mail of the team. */
  last_opened_at: Generated<number | null>
  last_clicked_at: Generated<number | null>
}

export interface ContactPropertiesTable {
  id: string
  team_id: string
  key: string
  label: string
  type: PropertyType
  /** JSON. */
  fallback: string | null
  created_at: number
}

export interface SegmentsTable {
  id: string
  team_id: string
  name: string
  /** JSON. */
  filter: string | null
  created_at: number
  updated_at: number
  /** Not null if the segment was deleted and its memberships are being removed. */
  deleted_at: number | null
  /** Number of contacts that matched the rules at `counted_at`. */
  counted: Generated<number | null>
  counted_at: Generated<number | null>
}

export interface SegmentDaysTable {
  segment_id: string
  /** The UTC day, such as `2026-01-31`. */
  day: string
  contacts: number
}

export interface ContactSegmentsTable {
  segment_id: string
  contact_id: string
  team_id: string
  added_at: number
}

export interface TopicsTable {
  id: string
  team_id: string
  name: string
  description: string | null
  default_subscription: Subscription
  visibility: Visibility
  created_at: number
  updated_at: number
  /** Not null if the topic was deleted and the choices for it are being removed. */
  deleted_at: number | null
}

export interface ContactTopicsTable {
  topic_id: string
  contact_id: string
  team_id: string
  subscription: Subscription
  origin: ConsentOrigin
  changed_at: number
}

export interface OptOutsTable {
  team_id: string
  address_hash: string
  /** The ID of a topic; empty for everything. */
  scope: string
  origin: ConsentOrigin
  at: number
}

export interface ConsentsTable {
  id: string
  team_id: string
  contact_id: string
  address_hash: string | null
  scope: string
  was: Subscription | null
  subscription: Subscription
  origin: ConsentOrigin
  via: string
  source: string | null
  ip: string | null
  user_agent: string | null
  wording: string | null
  at: number
}

export interface AudienceCountsTable {
  team_id: string
  noun: 'contacts' | 'created_on' | 'unsubscribed' | 'unsubscribed_on' | 'segment' | 'opt_in' | 'opt_out'
  /**
   * The segment or topic; for `created_on` and `unsubscribed_on`, the UTC day, such as `2026-01-31`. Empty for other
   * nouns.
   */
  subject: string
  n: number
}

export interface UnsubscribePagesTable {
  team_id: string
  /** JSON: the team's own texts by language. */
  words: string
  default_language: PageLanguage
  background_color: string
  text_color: string
  accent_color: string
  logo: string | null
  postal_address: string | null
  updated_at: number
}

export interface FormsTable {
  id: string
  team_id: string
  /** JSON. */
  settings: string
  enabled: number
  submitted: number
  confirmed: number
  created_at: number
  updated_at: number
}

export interface FormSignupsTable {
  id: string
  team_id: string
  form_id: string
  email: string
  address_key: string
  /** JSON. */
  given: string
  language: PageLanguage
  wording: string
  state: 'due' | 'mailed' | 'confirmed'
  created_at: number
}

export interface ContactImportsTable {
  id: string
  team_id: string
  status: ImportStatus | 'draft'
  source: string | null
  file_name: string
  file_sha256: string
  /** Size of the file in UTF-8. */
  bytes: number
  encoding: Encoding
  separator: Separator
  /** JSON. */
  columns: string
  /** JSON; null for a draft. */
  settings: string | null
  on_conflict: ConflictAction
  /** Bytes. */
  processed: number
  line: number
  total: Generated<number>
  created: Generated<number>
  updated: Generated<number>
  skipped: Generated<number>
  failed: Generated<number>
  duplicates: Generated<number>
  kept: Generated<number>
  rejects: Generated<number>
  error: string | null
  turn_at: number
  created_at: number
  completed_at: number | null
  undone: Generated<number>
  undo_after: string | null
  undone_at: number | null
}

export interface ContactImportRejectsTable {
  import_id: string
  team_id: string
  line: number
  reason: string
  /** JSON. */
  cells: string
}

export interface AudienceTables {
  contact_imports: ContactImportsTable
  contact_import_rejects: ContactImportRejectsTable
  contacts: ContactsTable
  contact_properties: ContactPropertiesTable
  segments: SegmentsTable
  segment_days: SegmentDaysTable
  contact_segments: ContactSegmentsTable
  topics: TopicsTable
  contact_topics: ContactTopicsTable
  opt_outs: OptOutsTable
  consents: ConsentsTable
  audience_counts: AudienceCountsTable
  unsubscribe_pages: UnsubscribePagesTable
  forms: FormsTable
  form_signups: FormSignupsTable
}
