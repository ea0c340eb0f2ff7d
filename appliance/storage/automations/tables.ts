/** The tables of custom events and automations. For common column types, see schema.ts. */

import type { AutomationStatus, RunStatus, RunStepStatus, StepType } from '../../mail/automation.ts'
import type { Generated } from 'kysely'

export interface CustomEventsTable {
  id: string
  team_id: string
  name: string
  /** JSON: EventSchema; null if any payload is valid. */
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
  /** The address, normalized by `toSuppressionKey`. */
  address_key: string
  /** JSON: an object. */
  payload: string
  created_at: number
  /** 1 if an automation may still have to handle the event. */
  pending: Generated<number>
}

export interface SentEventDaysTable {
  team_id: string
  /** The UTC day, such as `2026-11-20`. */
  day: string
  sent: number
}

export interface AutomationsTable {
  id: string
  team_id: string
  name: string
  status: AutomationStatus
  version_id: string
  stopped_at: number | null
  stop_reason: string | null
  created_at: number
  updated_at: number
  deleted_at: number | null
}

export interface AutomationVersionsTable {
  id: string
  team_id: string
  automation_id: string
  /** JSON: AutomationGraph. */
  content: string
  created_at: number
}

export interface AutomationTriggersTable {
  team_id: string
  event_name: string
  automation_id: string
}

export interface AutomationRunsTable {
  id: string
  team_id: string
  automation_id: string
  version_id: string
  contact_id: string
  event_name: string
  /** JSON: EventPayload. */
  event: string
  /** JSON: payloads by event name. */
  waits: string
  status: RunStatus
  created_at: number
  completed_at: number | null
}

export interface AutomationRunStepsTable {
  run_id: string
  key: string
  team_id: string
  type: StepType
  status: RunStepStatus
  due_at: number | null
  event_name: string | null
  contact_id: string
  /** JSON. */
  output: string | null
  /** JSON. */
  error: string | null
  created_at: number
  completed_at: number | null
}

export interface AutomationTemplatesTable {
  team_id: string
  /** An ID or alias. */
  template: string
  automation_id: string
}

export interface AutomationTables {
  automations: AutomationsTable
  automation_versions: AutomationVersionsTable
  automation_triggers: AutomationTriggersTable
  automation_templates: AutomationTemplatesTable
  automation_runs: AutomationRunsTable
  automation_run_steps: AutomationRunStepsTable
  custom_events: CustomEventsTable
  sent_events: SentEventsTable
  sent_event_days: SentEventDaysTable
}
