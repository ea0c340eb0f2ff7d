/** The tables of custom events and automations. For common column types, see schema.ts. */

export interface CustomEventsTable {
  id: string
  team_id: string
  name: string
  /** JSON: EventSchema; null: any payload. */
  schema: string | null
  created_at: number
  updated_at: number | null
}

export interface SentEventsTable {
  id: string
  team_id: string
  name: string
  contact_id: string | null
  email: string
  /** The address as `suppressionKey` normalizes it. */
  address_key: string
  /** JSON: an object. */
  payload: string
  created_at: number
}

export interface SentEventDaysTable {
  team_id: string
  /** UTC, `2026-11-20`. */
  day: string
  sent: number
}

export interface AutomationTables {
  custom_events: CustomEventsTable
  sent_events: SentEventsTable
  sent_event_days: SentEventDaysTable
}
