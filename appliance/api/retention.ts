import { Type, type Static } from 'typebox'
import { array, boolean, integer, kind, Nullable, object } from './schemas.ts'
import { Id } from './shared.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'

const days = (description: string) => integer(`Days. ${description}`)
const size = (description: string) => integer(`Bytes. ${description}`)

/** The server's disk usage. */
export const Disk = object('Disk usage of the server.', {
  database: size('Size of the database, without free pages.'),
  files: size('Size of messages stored as files.'),
  free_pages: size('Free pages of the database.'),
  held: size('Database and files.'),
  budget: Nullable(Type.Integer(), 'Maximum disk usage in bytes; null: the whole disk.'),
  room: size('Space left on the disk or in the budget.'),
  full_in_days: Nullable(Type.Integer(), "At last week's rate; null: no growth, or not enough data."),
})

/** GET /retention. Not part of the hosted API. */
export const Retention = object('Retention periods.', {
  object: kind('retention'),
  bodies_days: days('HTML, text, attachments and messages of finished emails.'),
  attempts_days: days('Transcripts.'),
  events_days: days('Events.'),
  emails_days: days('Emails and all related data.'),
  logs_days: days('Requests.'),
  webhooks_days: days('Webhook payloads and responses.'),
  audit_days: days('Audit log entries; 0: forever.'),
  disk: Nullable(Disk, 'For the team that operates the server; null for others.'),
  domains_without_bodies: array(
    Type.String(),
    'Domains of the team whose bodies are deleted when an email is final.',
  ),
})
export type Retention = Static<typeof Retention>

/** GET and PUT /domains/:id/bodies. Not part of the hosted API. */
export const DomainBodies = object('Whether bodies of emails from the domain are kept.', {
  object: kind('domain_bodies'),
  domain_id: Id,
  keep: boolean('false: bodies, subjects and headers of its emails are deleted when the email is final.'),
})
export type DomainBodies = Static<typeof DomainBodies>
export const UpdateDomainBodies = object('Whether to keep bodies of emails from a domain.', {
  keep: boolean('For emails accepted from now on.'),
})

const usageOperation = operationsIn('Usage')
const domainOperation = operationsIn('Domains')

export const getRetention = usageOperation('GET /retention', {
  summary: 'Get retention periods',
  description: 'With disk usage, for the team that operates the server. Not part of the hosted API.',
  response: { 200: Retention },
})
export const getDomainBodies = domainOperation('GET /domains/:id/bodies', {
  summary: "Get whether a domain's bodies are kept",
  params: byId,
  response: { 200: DomainBodies },
})
export const setBodyRetention = domainOperation('PUT /domains/:id/bodies', {
  summary: "Set whether a domain's bodies are kept",
  description: 'Applies to new emails. Bodies accepted earlier are kept for their retention period.',
  params: byId,
  body: UpdateDomainBodies,
  response: { 200: DomainBodies },
})

/** Retention periods in days. */
export interface RetentionDays {
  bodies: number
  attempts: number
  events: number
  emails: number
  logs: number
  webhooks: number
  /** 0: forever. */
  audit: number
}

/** Disk usage in bytes, and the number of days until the disk is full (null if usage isn't growing, or is unknown). */
export interface DiskUsage {
  database: number
  files: number
  freePages: number
  held: number
  budget: number | null
  room: number
  fullInDays: number | null
}

/** Formats the response of GET /retention and the command's JSON. */
export function presentRetention(days: RetentionDays, disk: DiskUsage | null, without: string[]): Retention {
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

function presentDisk({ freePages, fullInDays, ...disk }: DiskUsage): NonNullable<Retention['disk']> {
  const { database, files, held, budget, room } = disk
  return { database, files, free_pages: freePages, held, budget, room, full_in_days: fullInDays }
}
