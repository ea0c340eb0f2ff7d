/** What the document says of each route beside its schemas. Keys are method and path as the router has them. */
import { emailSearchOperations, SEARCH_PARAMETERS } from './openapi-email-search.ts'
import type { Schema } from './openapi-components.ts'

/** The words for one operation. */
export interface OperationNotes {
  /** Unique; generators of clients make method names of it. */
  id: string
  tag: string
  /** A few words. */
  summary: string
  /** Whole sentences: what happens, what is refused. */
  description?: string
  deprecated?: true
  /** Parameters of the path that are more than an id. */
  path?: Record<string, { description: string; schema: Schema }>
  /** Names of `PARAMETERS`. */
  query?: string[]
  headers?: string[]
  /** Statuses that do not follow from the route itself. */
  errors?: string[]
  /** Where 200 is no JSON. */
  answers?: { type: string; description: string }
}

const text: Schema = { type: 'string' }
const uuid: Schema = { type: 'string', format: 'uuid' }

/** A query parameter or a request header. `name` where it is not the key. */
export interface ParameterNotes {
  name?: string
  description: string
  schema: Schema
}

/** The conditions of the queue: their names, such as `domain`, mean other things elsewhere. */
function queueConditions(words: Record<string, string>): typeof PARAMETERS {
  const entries = Object.entries(words).map(([name, description]) => [
    `queue_${name}`,
    { name, description, schema: text },
  ])
  return Object.fromEntries(entries) as typeof PARAMETERS
}

/** Query parameters and request headers. */
export const PARAMETERS: Record<string, ParameterNotes> = {
  limit: {
    description: 'How many, from 1 to 100.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
  after: { description: 'The page after this id, exclusive.', schema: uuid },
  before: { description: 'The page before this id, exclusive.', schema: uuid },
  domain: {
    description: 'Only the DNS records and blocklist entries of this domain of the team.',
    schema: { type: 'string', examples: ['acme.example'] },
  },
  wait: {
    description: '`false`: return immediately with the results so far. Repeat until the result is complete.',
    schema: { type: 'boolean', default: true },
  },
  ...queueConditions({
    domain: 'Only deliveries to this recipient domain.',
    provider: 'Only deliveries to this mailbox provider.',
    pool: 'Only deliveries in this pool.',
    stream: '`transactional` or `broadcast`.',
    tag: 'Only emails with this tag: `name` or `name=value`.',
    state: '`waiting` or `held`.',
    older_than: 'Accepted before this long ago: `90m`, `2h`, `3d`.',
    newer_than: 'Accepted within the last: `90m`, `2h`, `3d`.',
    reply: 'Only deliveries whose last reply contains these words.',
    category: 'Only this failure category.',
    source: 'Only deliveries last attempted from this sending IP.',
    email_id: 'Only deliveries of this email.',
    id: 'Only this delivery.',
    team_id: 'Only this team, or `all`. For the team that operates the server.',
  }),
  start_date: {
    description: 'Start of the range: an ISO 8601 date or datetime. Default: six days before the end.',
    schema: text,
  },
  end_date: {
    description: 'End of the range, exclusive: an ISO 8601 date or datetime. Default: now.',
    schema: text,
  },
  timezone: {
    description: 'The IANA time zone of the periods, and of dates without an offset.',
    schema: { type: 'string', default: 'UTC', examples: ['America/New_York'] },
  },
  granularity: {
    description: 'Length of the periods; at most 10000 of them.',
    schema: { type: 'string', enum: ['hourly', 'daily', 'weekly', 'monthly'], default: 'daily' },
  },
  metrics: {
    description: 'Comma-separated metrics. Default: all.',
    schema: { type: 'string', examples: ['sent,delivered,bounce_rate'] },
  },
  dimensions: {
    description: 'Comma-separated dimensions of the rows: period, domain, email or broadcast.',
    schema: { type: 'string', examples: ['period,domain'] },
  },
  ...SEARCH_PARAMETERS,
  'metrics.domain_id': {
    description: 'Only these domains: up to 100 comma-separated ids.',
    schema: text,
  },
  'metrics.email_id': { description: 'Only these emails: up to 100 comma-separated ids.', schema: text },
  'metrics.broadcast_id': {
    description: 'Only these broadcasts: up to 100 comma-separated ids.',
    schema: text,
  },
  'Idempotency-Key': {
    description: 'Makes it safe to repeat the request: 1 to 256 characters, stored for 24 hours.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  },
  'x-batch-validation': {
    description:
      '`strict` sends all emails or none. `permissive` sends the valid ones and reports the others.',
    schema: { type: 'string', enum: ['strict', 'permissive'], default: 'strict' },
  },
}

/** In the order of the reference. */
export const TAGS = [
  { name: 'Emails', description: 'Send emails and see what happened to them.' },
  { name: 'Domains', description: 'Domains to send from, and their DNS records.' },
  { name: 'API keys', description: 'Keys that apps authenticate with.' },
  { name: 'Suppressions', description: 'Addresses that this server does not send to.' },
  { name: 'Erasures', description: 'Erase the data of one address, with a receipt.' },
  {
    name: 'Webhooks',
    description: 'URLs that receive events, and the log of webhook deliveries.',
  },
  { name: 'Logs', description: 'Log of API requests and responses.' },
  { name: 'Queue', description: 'Queued mail, and the operations on it.' },
  { name: 'Audit log', description: 'Who did what, from where, and with what result.' },
  { name: 'Sources', description: 'Sending IPs, and which mail uses which pool.' },
  {
    name: 'Providers and lanes',
    description: 'Sending limits per mailbox provider, and the current limits of each lane.',
  },
  { name: 'Usage', description: 'Usage of the plan.' },
  { name: 'Dashboard', description: 'Sign-in for the dashboard. Not for apps.' },
  { name: 'Sandbox', description: 'Captured mail. Only in the sandbox.' },
  { name: 'Service', description: 'Information about the server.' },
]

const page = ['limit', 'after', 'before']
const token = {
  token: { description: 'The signed part of the link. It expires.', schema: text },
}
const emails: Record<string, OperationNotes> = {
  'POST /emails': {
    id: 'sendEmail',
    tag: 'Emails',
    summary: 'Send an email',
    description:
      'Responds when the email is stored; delivery follows. To, cc and bcc accept 50 recipients each. With `scheduled_at`, the email is sent at that time.',
    headers: ['Idempotency-Key'],
    errors: ['507'],
  },
  'POST /emails/batch': {
    id: 'sendBatch',
    tag: 'Emails',
    summary: 'Send up to 100 emails',
    description: 'Each element of the array is a separate email. All are stored in one transaction.',
    headers: ['Idempotency-Key', 'x-batch-validation'],
    errors: ['507'],
  },
  'GET /emails': { id: 'listEmails', tag: 'Emails', summary: 'List emails', query: page },
  'GET /emails/:id': { id: 'getEmail', tag: 'Emails', summary: 'Get an email' },
  'PATCH /emails/:id': {
    id: 'rescheduleEmail',
    tag: 'Emails',
    summary: 'Reschedule an email',
    description: 'Only while the email is scheduled.',
  },
  'POST /emails/:id/cancel': {
    id: 'cancelEmail',
    tag: 'Emails',
    summary: 'Cancel a scheduled email',
    description: 'Only while the email is scheduled. A canceled email is never sent.',
  },
  'POST /emails/:id/share': {
    id: 'shareEmail',
    tag: 'Emails',
    summary: 'Share an email',
    description: 'Creates a link that shows the email to people without an account, for at most 48 hours.',
  },
  'GET /emails/:id/attachments': {
    id: 'listAttachments',
    tag: 'Emails',
    summary: "List an email's attachments",
    query: page,
  },
  'GET /emails/:id/attachments/:attachment_id': {
    id: 'getAttachment',
    tag: 'Emails',
    summary: 'Get an attachment',
    description: 'The `download_url` gives access to the file without a key for one hour.',
  },
  'GET /emails/:id/timeline': {
    id: 'getTimeline',
    tag: 'Emails',
    summary: 'Get the timeline of an email',
    description:
      'Every recipient with its delivery state, every attempt with its SMTP transcript, and every event. Not part of the hosted API.',
  },
  'GET /emails/:id/source': {
    id: 'getSource',
    tag: 'Emails',
    summary: 'Get the source of an email',
    description: 'The message as accepted, before signing. Not part of the hosted API.',
    answers: { type: 'message/rfc822', description: 'The RFC 5322 message.' },
  },
  'GET /downloads/attachments/:token': {
    id: 'downloadAttachment',
    tag: 'Emails',
    summary: 'Download an attachment',
    description:
      'The target of `download_url`. Requires no key: anyone with the link can get the file until it expires.',
    path: token,
    errors: ['410'],
    answers: { type: 'application/octet-stream', description: 'The file, as sent.' },
  },
}

const alias = (id: string): OperationNotes => ({
  id,
  tag: 'Emails',
  summary: 'Send an email (older path)',
  description: 'The same as `POST /emails`, for older clients.',
  deprecated: true,
  headers: ['Idempotency-Key'],
})
const aliases: Record<string, OperationNotes> = {
  'POST /email': alias('sendEmailSingular'),
  'POST /emails/sending': alias('sendEmailSending'),
  'POST /email/sending': alias('sendEmailSingularSending'),
}

const domains: Record<string, OperationNotes> = {}

const apiKeys: Record<string, OperationNotes> = {}

const suppressions: Record<string, OperationNotes> = {}

const queue: Record<string, OperationNotes> = {}

const domainBodies: Record<string, OperationNotes> = {}

const erasures: Record<string, OperationNotes> = {}

const others: Record<string, OperationNotes> = {}

/** All operations, in the order of the reference. */
export const OPERATIONS: Record<string, OperationNotes> = {
  ...emails,
  ...emailSearchOperations,
  ...aliases,
  ...domains,
  ...domainBodies,
  ...apiKeys,
  ...suppressions,
  ...erasures,
  ...queue,
  ...others,
}
