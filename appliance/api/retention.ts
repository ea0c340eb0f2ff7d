import { Type, type Static } from 'typebox'
import { Id, kind, Nullable } from './shared.ts'
import { operationsIn } from './operation.ts'
import { path, pathId } from './parameters.ts'

const days = (description: string) => Type.Integer({ description: `Days. ${description}` })
const size = (description: string) => Type.Integer({ description: `Bytes. ${description}` })

/** The server's disk usage. */
export const Disk = Type.Object(
  {
    database: size('Size of the database, without free pages.'),
    files: size('Size of messages stored as files.'),
    free_pages: size('Free pages of the database.'),
    held: size('Database and files.'),
    budget: Nullable(Type.Integer(), {
      description: 'Maximum disk usage in bytes; null: the whole disk.',
    }),
    room: size('Space left on the disk or in the budget.'),
    full_in_days: Nullable(Type.Integer(), {
      description: "At last week's rate; null: no growth, or not enough data.",
    }),
  },
  { description: 'Disk usage of the server.' },
)

/** GET /retention. Not part of the hosted API. */
export const Retention = Type.Object(
  {
    object: kind('retention'),
    bodies_days: days('HTML, text, attachments and messages of finished emails.'),
    attempts_days: days('Transcripts.'),
    events_days: days('Events.'),
    emails_days: days('Emails and all related data.'),
    logs_days: days('Requests.'),
    webhooks_days: days('Webhook payloads and responses.'),
    audit_days: days('Audit log entries; 0: forever.'),
    disk: Nullable(Disk, { description: 'For the team that operates the server; null for others.' }),
    domains_without_bodies: Type.Array(Type.String(), {
      description: 'Domains of the team whose bodies are deleted when an email is final.',
    }),
  },
  { description: 'Retention periods.' },
)
export type Retention = Static<typeof Retention>

/** GET and PUT /domains/:id/bodies. Not part of the hosted API. */
export const DomainBodies = Type.Object(
  {
    object: kind('domain_bodies'),
    domain_id: Id,
    keep: Type.Boolean({
      description: 'false: bodies, subjects and headers of its emails are deleted when the email is final.',
    }),
  },
  { description: 'Whether bodies of emails from the domain are kept.' },
)
export type DomainBodies = Static<typeof DomainBodies>
/** PUT /domains/:id/bodies */
export const UpdateDomainBodies = Type.Object(
  { keep: Type.Boolean({ description: 'For emails accepted from now on.' }) },
  { description: 'Whether to keep bodies of emails from a domain.' },
)

const usageOperation = operationsIn('Usage')
const domainOperation = operationsIn('Domains')

export const getRetention = usageOperation('GET /retention', {
  summary: 'Get retention periods',
  description: 'With disk usage, for the team that operates the server. Not part of the hosted API.',
  response: { 200: Retention },
})
export const getDomainBodies = domainOperation('GET /domains/:id/bodies', {
  summary: "Get whether a domain's bodies are kept",
  params: path({ id: pathId }),
  response: { 200: DomainBodies },
})
export const setBodyRetention = domainOperation('PUT /domains/:id/bodies', {
  summary: "Set whether a domain's bodies are kept",
  description: 'Applies to new emails. Bodies accepted earlier are kept for their retention period.',
  params: path({ id: pathId }),
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
