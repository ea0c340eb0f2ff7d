import { Type, type Static } from 'typebox'
import { Id, kind, Nullable } from '../../api/shared.ts'

const days = (description: string) => Type.Integer({ description: `Days. ${description}` })
const size = (description: string) => Type.Integer({ description: `Bytes. ${description}` })

/** What the appliance holds on the disk. */
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

/** GET /retention. Ours. */
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

/** GET and PUT /domains/:id/bodies. Ours. */
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
