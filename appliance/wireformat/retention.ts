import type * as schema from '../http/schemas/retention.ts'

/** Days that each kind is kept. */
export interface RetentionDays {
  bodies: number
  attempts: number
  events: number
  emails: number
  logs: number
  webhooks: number
  /** 0: for ever. */
  audit: number
}

/** Bytes, and days until there is no room; null: it does not grow, or too little is known. */
export interface DiskHeld {
  database: number
  files: number
  freePages: number
  held: number
  budget: number | null
  room: number
  fullInDays: number | null
}

/** GET /retention, and what the command prints. */
export function presentRetention(
  days: RetentionDays,
  disk: DiskHeld | null,
  without: string[],
): schema.Retention {
  const { bodies, attempts, events, emails, logs, webhooks, audit } = days
  return {
    object: 'retention',
    bodies_days: bodies,
    attempts_days: attempts,
    events_days: events,
    emails_days: emails,
    logs_days: logs,
    webhooks_days: webhooks,
    audit_days: audit,
    disk: disk && presentDisk(disk),
    domains_without_bodies: without,
  }
}

function presentDisk({ freePages, fullInDays, ...disk }: DiskHeld): NonNullable<schema.Retention['disk']> {
  const { database, files, held, budget, room } = disk
  return { database, files, free_pages: freePages, held, budget, room, full_in_days: fullInDays }
}
