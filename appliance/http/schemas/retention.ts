import { Type, type Static } from 'typebox'
import { Id, kind, Nullable } from './shared.ts'

const days = (description: string) => Type.Integer({ description: `Days. ${description}` })
const size = (description: string) => Type.Integer({ description: `Bytes. ${description}` })

/** What the appliance holds on the disk. */
export const Disk = Type.Object(
  {
    database: size('Of the database, without free pages.'),
    files: size('Of messages that are files.'),
    free_pages: size('Of the database, to be used again.'),
    held: size('Database and files.'),
    budget: Nullable(Type.Integer(), {
      description: 'Bytes that may be held; null: as many as the disk has.',
    }),
    room: size('What is left of the disk or the budget.'),
    full_in_days: Nullable(Type.Integer(), {
      description: 'At the rate of the last week; null: it does not grow, or too little is known.',
    }),
  },
  { description: 'What the server holds on the disk.' },
)

/** GET /retention. Ours. */
export const Retention = Type.Object(
  {
    object: kind('retention'),
    bodies_days: days('html, text, attachments and messages of finished emails.'),
    attempts_days: days('Transcripts.'),
    events_days: days('Events.'),
    emails_days: days('Emails with all that belongs to them.'),
    logs_days: days('Requests.'),
    webhooks_days: days('What webhooks were sent and answered.'),
    audit_days: days('Entries of the audit log; 0: for ever.'),
    disk: Nullable(Disk, { description: 'For the team that runs the server; null for others.' }),
    domains_without_bodies: Type.Array(Type.String(), {
      description: 'Domains of the team whose bodies go as soon as an email is final.',
    }),
  },
  { description: 'How long what is kept.' },
)
export type Retention = Static<typeof Retention>

/** GET and PUT /domains/:id/bodies. Ours. */
export const DomainBodies = Type.Object(
  {
    object: kind('domain_bodies'),
    domain_id: Id,
    keep: Type.Boolean({
      description: 'false: bodies, subjects and headers of its emails go as soon as an email is final.',
    }),
  },
  { description: 'Whether bodies of emails from a domain are kept.' },
)
export type DomainBodies = Static<typeof DomainBodies>
/** PUT /domains/:id/bodies */
export const UpdateDomainBodies = Type.Object(
  { keep: Type.Boolean({ description: 'From now on.' }) },
  { description: 'Whether bodies of emails from a domain are to be kept.' },
)
