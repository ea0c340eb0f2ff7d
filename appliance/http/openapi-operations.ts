/** What the document says of each route beside its schemas. Keys are method and path as the router has them. */
import { ACCOUNT } from './openapi-account.ts'
import { FACTORS } from './openapi-factors.ts'
import { FIRST_RUN } from './openapi-first-run.ts'
import { IDENTITY_OPERATIONS } from './openapi-identities.ts'
import { NODES } from './openapi-nodes.ts'
import { AUDIT_PARAMETERS, auditOperations } from './openapi-audit.ts'
import { emailSearchOperations, SEARCH_PARAMETERS } from './openapi-email-search.ts'
import { LOG_PARAMETERS, logSearchOperations } from './openapi-log-search.ts'
import { METRICS_OPERATIONS, METRICS_PARAMETERS } from './openapi-metrics.ts'
import { TEAMS } from './openapi-teams.ts'
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
  after: { description: 'The page after this id, not including it.', schema: uuid },
  before: { description: 'The page before this id, not including it.', schema: uuid },
  email_id: { description: 'Only the request that made this email, and its repetitions.', schema: uuid },
  status: {
    description: 'Only those that stand so.',
    schema: { type: 'string', enum: ['pending', 'attempting', 'success', 'failed'] },
  },
  type: { description: 'Only events of this type.', schema: text },
  origin: {
    description: 'Only those that came about like this.',
    schema: { type: 'string', enum: ['bounce', 'complaint', 'manual'] },
  },
  search: {
    description: 'Only those whose address contains this.',
    schema: { type: 'string', maxLength: 254, examples: ['@example.com'] },
  },
  domain: {
    description: 'Only this domain of the team: its records and listings.',
    schema: { type: 'string', examples: ['acme.example'] },
  },
  wait: {
    description: '`false`: answer at once with what is found so far; ask again until it is complete.',
    schema: { type: 'boolean', default: true },
  },
  ...queueConditions({
    domain: 'To this recipient domain.',
    provider: 'To this mailbox provider.',
    pool: 'Of this pool.',
    stream: '`transactional` or `broadcast`.',
    tag: 'With this tag: `name` or `name=value`.',
    state: '`waiting` or `held`.',
    older_than: 'Accepted longer ago: `90m`, `2h`, `3d`.',
    newer_than: 'Accepted since: `90m`, `2h`, `3d`.',
    reply: 'With these words in the last answer.',
    category: 'Failed for a cause of this kind.',
    source: 'Last tried from this address.',
    email_id: 'Of this email.',
    id: 'This delivery.',
    team_id: 'Of this team, or `all`. For the team that runs the server.',
  }),
  start_date: {
    description: 'Start of the range: an ISO 8601 date or datetime. Default: six days before the end.',
    schema: text,
  },
  end_date: {
    description: 'End of the range, not including it: an ISO 8601 date or datetime. Default: now.',
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
    description: 'Which metrics, with commas between; all by default.',
    schema: { type: 'string', examples: ['sent,delivered,bounce_rate'] },
  },
  dimensions: {
    description: 'What the rows tell apart, with commas between: period, domain, email or broadcast.',
    schema: { type: 'string', examples: ['period,domain'] },
  },
  ...SEARCH_PARAMETERS,
  ...LOG_PARAMETERS,
  ...AUDIT_PARAMETERS,
  ...METRICS_PARAMETERS,
  'metrics.domain_id': {
    description: 'Only these domains: up to 100 ids with commas between.',
    schema: text,
  },
  'metrics.email_id': { description: 'Only these emails: up to 100 ids with commas between.', schema: text },
  'metrics.broadcast_id': {
    description: 'Only these broadcasts: up to 100 ids with commas between.',
    schema: text,
  },
  'Idempotency-Key': {
    description: 'Makes it safe to send the request again: 1 to 256 characters, kept for 24 hours.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  },
  'x-batch-validation': {
    description:
      '`strict` sends all emails or none; `permissive` sends the valid ones and tells about the others.',
    schema: { type: 'string', enum: ['strict', 'permissive'], default: 'strict' },
  },
}

/** In the order of the reference. */
export const TAGS = [
  { name: 'Emails', description: 'Sending, and all that is known of what was sent.' },
  { name: 'Domains', description: 'Domains to send from, with the DNS records that they need.' },
  { name: 'API keys', description: 'What apps sign their requests with.' },
  { name: 'Suppressions', description: 'Addresses that nothing is sent to any more.' },
  { name: 'Erasures', description: "Erasing one person's data by address, with a receipt." },
  {
    name: 'Webhooks',
    description: 'Endpoints of apps that are told what happens, and the log of what they were sent.',
  },
  { name: 'Logs', description: 'The requests of apps, with their answers.' },
  { name: 'Queue', description: 'Mail that waits, and what operators do to it.' },
  { name: 'Audit log', description: 'Who did what, from where, with what came of it.' },
  { name: 'Sources', description: 'The addresses that mail leaves from, and which mail uses which of them.' },
  { name: 'Providers and lanes', description: 'How much goes from where to whom, and why no more.' },
  { name: 'Usage', description: 'What was used of the plan.' },
  { name: 'Dashboard', description: 'What the dashboard signs in with. Not for apps.' },
  { name: 'Sandbox', description: 'Mail that was caught instead of being sent. In the sandbox only.' },
  { name: 'Service', description: 'About the server itself.' },
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
      'Answers once the email is safely stored; it is delivered afterwards. To, cc and bcc take 50 recipients each. With `scheduled_at` it waits until then.',
    headers: ['Idempotency-Key'],
    errors: ['507'],
  },
  'POST /emails/batch': {
    id: 'sendBatch',
    tag: 'Emails',
    summary: 'Send up to 100 emails',
    description: 'Each element of the array is an email of its own. They are stored together, in one step.',
    headers: ['Idempotency-Key', 'x-batch-validation'],
    errors: ['507'],
  },
  'GET /emails': { id: 'listEmails', tag: 'Emails', summary: 'List emails', query: page },
  'GET /live': {
    id: 'watchEmails',
    tag: 'Emails',
    summary: 'Watch what happens',
    description:
      'Server-sent events: an `email`, `domain` or `suppression` event with `type`, `email_id` and `created_at` for everything that happens; for the team that runs the appliance also `lanes`, without data, when a lane has changed. `Last-Event-ID` goes on where the last stream ended; `reset` says that too much was missed. A stream ends after 15 minutes; come back then.',
    answers: { type: 'text/event-stream', description: 'A stream of events.' },
  },
  'GET /emails/metrics': {
    id: 'getMetrics',
    tag: 'Emails',
    summary: 'Count emails',
    description:
      'Sums over a range of time, and rows by period, domain or email. Numbers are of recipients; rates are from 0 to 1. Without parameters: all metrics of the last six days.',
    query: [
      ...['start_date', 'end_date', 'timezone', 'granularity', 'metrics', 'dimensions'],
      ...['metrics.domain_id', 'metrics.email_id', 'metrics.broadcast_id'],
    ],
  },
  ...METRICS_OPERATIONS,
  'GET /emails/:id': { id: 'getEmail', tag: 'Emails', summary: 'Get an email' },
  'PATCH /emails/:id': {
    id: 'rescheduleEmail',
    tag: 'Emails',
    summary: 'Reschedule an email',
    description: 'Only while it is scheduled.',
  },
  'POST /emails/:id/cancel': {
    id: 'cancelEmail',
    tag: 'Emails',
    summary: 'Cancel a scheduled email',
    description: 'Only while it is scheduled. A cancelled email is never sent.',
  },
  'POST /emails/:id/share': {
    id: 'shareEmail',
    tag: 'Emails',
    summary: 'Share an email',
    description: 'Makes a link that shows the email to people without an account, for 48 hours at most.',
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
    description: 'Its `download_url` gives the file without a key, for an hour.',
  },
  'GET /emails/:id/timeline': {
    id: 'getTimeline',
    tag: 'Emails',
    summary: 'See what happened to an email',
    description:
      'Every recipient with the state of its delivery, every attempt with all that was said to and by the remote server, every event. Not at the hosted service.',
  },
  'GET /emails/:id/source': {
    id: 'getSource',
    tag: 'Emails',
    summary: 'Get the message itself',
    description: 'As it was accepted, before it is signed. Not at the hosted service.',
    answers: { type: 'message/rfc822', description: 'The RFC 5322 message.' },
  },
  'GET /downloads/attachments/:token': {
    id: 'downloadAttachment',
    tag: 'Emails',
    summary: 'Download an attachment',
    description:
      'What `download_url` leads to. Needs no key: who has the link has the file, until it expires.',
    path: token,
    errors: ['410'],
    answers: { type: 'application/octet-stream', description: 'The file, as it was sent.' },
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

const domains: Record<string, OperationNotes> = {
  'POST /domains': {
    id: 'createDomain',
    tag: 'Domains',
    summary: 'Add a domain',
    description: 'Answers with the DNS records to publish. The domain may send once they are found.',
  },
  'GET /domains': { id: 'listDomains', tag: 'Domains', summary: 'List domains', query: page },
  'GET /domains/:id': { id: 'getDomain', tag: 'Domains', summary: 'Get a domain with its DNS records' },
  'PATCH /domains/:id': { id: 'updateDomain', tag: 'Domains', summary: 'Change the settings of a domain' },
  'DELETE /domains/:id': {
    id: 'deleteDomain',
    tag: 'Domains',
    summary: 'Remove a domain',
    description: 'Its DKIM keys go with it, and the API keys that are bound to it.',
  },
  'POST /domains/:id/verify': {
    id: 'verifyDomain',
    tag: 'Domains',
    summary: 'Verify a domain',
    description:
      'Looks for its DNS records in the background, for 72 hours at most. What was found is read with `GET /domains/:id`.',
  },
  'POST /domains/:id/dkim/rotate': {
    id: 'rotateDkimKeys',
    tag: 'Domains',
    summary: 'Rotate the DKIM keys of a domain',
    description:
      'Makes new keys under new selectors. They sign once their records are found; the old ones retire after that. Not at the hosted service.',
  },
}

const apiKeys: Record<string, OperationNotes> = {
  'POST /api-keys': {
    id: 'createApiKey',
    tag: 'API keys',
    summary: 'Create an API key',
    description: 'The token is shown in this answer and never again.',
  },
  'GET /api-keys': { id: 'listApiKeys', tag: 'API keys', summary: 'List API keys', query: page },
  'PATCH /api-keys/:id': { id: 'renameApiKey', tag: 'API keys', summary: 'Rename an API key' },
  'DELETE /api-keys/:id': {
    id: 'deleteApiKey',
    tag: 'API keys',
    summary: 'Delete an API key',
    description: 'It stops working at once. Emails that it sent stay.',
  },
}

const suppression = {
  id: { description: 'The id of the suppression, or the address.', schema: text },
}

const suppressions: Record<string, OperationNotes> = {
  'POST /suppressions': {
    id: 'createSuppression',
    tag: 'Suppressions',
    summary: 'Suppress an address',
    description: 'An address that is suppressed already keeps its suppression, which is the answer.',
  },
  'GET /suppressions': {
    id: 'listSuppressions',
    tag: 'Suppressions',
    summary: 'List suppressions',
    query: [...page, 'origin', 'search'],
  },
  'GET /suppressions/export': {
    id: 'exportSuppressions',
    tag: 'Suppressions',
    summary: 'Export the suppressions',
    description:
      'The whole list, newest first, as `POST /suppressions/import` reads it. Not at the hosted service.',
    query: ['origin', 'search'],
    answers: { type: 'text/csv', description: 'The list, with column names.' },
  },
  'POST /suppressions/import': {
    id: 'importSuppressions',
    tag: 'Suppressions',
    summary: 'Import suppressions',
    description:
      'Lines that cannot be used are left out and told. An address that is suppressed already keeps its suppression. Not at the hosted service.',
  },
  'GET /suppressions/:id': {
    id: 'getSuppression',
    tag: 'Suppressions',
    summary: 'Get a suppression',
    path: suppression,
  },
  'DELETE /suppressions/:id': {
    id: 'deleteSuppression',
    tag: 'Suppressions',
    summary: 'Allow an address again',
    path: suppression,
  },
  'POST /suppressions/batch/add': {
    id: 'addSuppressions',
    tag: 'Suppressions',
    summary: 'Suppress up to 100 addresses',
  },
  'POST /suppressions/batch/remove': {
    id: 'removeSuppressions',
    tag: 'Suppressions',
    summary: 'Allow up to 100 addresses again',
    description: 'By `emails` or by `ids`, not both. What is not suppressed is left out of the answer.',
  },
}

const eventId = {
  event_id: { description: 'The id of the event, `msg_…`.', schema: text },
}
const webhooks: Record<string, OperationNotes> = {
  'POST /webhooks': {
    id: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Create a webhook',
    description: 'Answers with the secret that its requests are signed with. At most 50 of a team.',
  },
  'GET /webhooks': { id: 'listWebhooks', tag: 'Webhooks', summary: 'List webhooks', query: page },
  'GET /webhooks/:id': { id: 'getWebhook', tag: 'Webhooks', summary: 'Get a webhook with its secret' },
  'PATCH /webhooks/:id': {
    id: 'updateWebhook',
    tag: 'Webhooks',
    summary: 'Change, enable or disable a webhook',
  },
  'DELETE /webhooks/:id': {
    id: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Remove a webhook',
    description: 'Nothing more is sent to it. Its log goes with it.',
  },
  'POST /webhooks/:id/signing-secret/rotate': {
    id: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Rotate the secret of a webhook',
    description: 'For 24 hours requests carry two signatures, of the new secret and of the old one.',
  },
  'POST /webhooks/:id/ping': {
    id: 'pingWebhook',
    tag: 'Webhooks',
    summary: 'Send a test event',
    description:
      'Sends a `webhook.ping` now, once, and answers with what came of it, after 15 seconds at the latest. Not at the hosted service.',
  },
  'POST /webhooks/:id/replay': {
    id: 'replayWebhook',
    tag: 'Webhooks',
    summary: 'Replay a selection or a range of time',
    description:
      'With `event_ids`: sends these again under the same ids. With `since`: sends what happened in the range and the endpoint listens to, also what it was never sent: from before it was made, or while it was disabled. Not at the hosted service.',
  },
  'GET /webhooks/:id/events': {
    id: 'listWebhookEvents',
    tag: 'Webhooks',
    summary: 'List what was sent to a webhook',
    query: [...page, 'status', 'type'],
  },
  'GET /webhooks/:id/events/:event_id': {
    id: 'getWebhookEvent',
    tag: 'Webhooks',
    summary: 'Get an event with its payload',
    path: eventId,
  },
  'POST /webhooks/:id/events/:event_id/replay': {
    id: 'replayWebhookEvent',
    tag: 'Webhooks',
    summary: 'Replay an event',
    description: 'Under the same id, with all attempts before it.',
    path: eventId,
  },
  'GET /webhooks/:id/events/:event_id/attempts': {
    id: 'listWebhookEventAttempts',
    tag: 'Webhooks',
    summary: 'List the attempts of an event',
    query: page,
    path: eventId,
  },
  'GET /webhooks/:id/attempts': {
    id: 'listWebhookAttempts',
    tag: 'Webhooks',
    summary: 'List all requests to a webhook',
    description: 'With their answers. Not at the hosted service.',
    query: page,
  },
}

const address = {
  ip: { description: 'The address, or `auto`.', schema: text },
}
const providerId = {
  id: { description: 'As providers.toml has it, or the domain of a mail exchanger.', schema: text },
}
const laneIds = {
  id: { description: 'The source address and the provider: `192.0.2.1~google`.', schema: text },
}
const shaping: Record<string, OperationNotes> = {
  'GET /providers': {
    id: 'listProviders',
    tag: 'Providers and lanes',
    summary: 'List mailbox providers',
    description: 'With their limits. For the team that runs the server. Not at the hosted service.',
  },
  'GET /providers/:id': {
    id: 'getProvider',
    tag: 'Providers and lanes',
    summary: 'Get a mailbox provider',
    path: providerId,
  },
  'PATCH /providers/:id': {
    id: 'updateProvider',
    tag: 'Providers and lanes',
    summary: 'Change the limits of a mailbox provider',
    description: 'They hold at once. `default` is every provider that is not in providers.toml.',
    path: providerId,
  },
  'GET /lanes': {
    id: 'listLanes',
    tag: 'Providers and lanes',
    summary: 'List lanes',
    description: 'What goes from each source address to each provider, and why no more.',
  },
  'POST /lanes/:id/pause': {
    id: 'pauseLane',
    tag: 'Providers and lanes',
    summary: 'Pause a lane',
    description: 'Nothing more leaves; what is under way ends.',
    path: laneIds,
  },
  'POST /lanes/:id/resume': {
    id: 'resumeLane',
    tag: 'Providers and lanes',
    summary: 'Resume a lane',
    description: 'Ends a pause of any kind, and the narrow limits after it.',
    path: laneIds,
  },
}

const sources: Record<string, OperationNotes> = {
  'GET /sources': {
    id: 'listSources',
    tag: 'Sources',
    summary: 'List sources',
    description:
      'With what the last check of each saw. For the team that runs the server. Not at the hosted service.',
  },
  'POST /sources': {
    id: 'createSource',
    tag: 'Sources',
    summary: 'Add a source',
    description:
      'An address of this machine. SPF records of all domains must name it from now on, as their checks will say.',
    errors: ['409'],
  },
  'GET /sources/:ip': {
    id: 'getSourceAddress',
    tag: 'Sources',
    summary: 'Get a source',
    path: address,
  },
  'PATCH /sources/:ip': {
    id: 'updateSource',
    tag: 'Sources',
    summary: 'Change a source',
    description: 'Its pool, its EHLO name, its warm-up, or whether it is used at all.',
    path: address,
  },
  'DELETE /sources/:ip': {
    id: 'deleteSource',
    tag: 'Sources',
    summary: 'Remove a source',
    description: 'One that comes from the configuration is taken out there.',
    path: address,
    errors: ['409'],
  },
  'GET /sources/assignments': {
    id: 'listPoolAssignments',
    tag: 'Sources',
    summary: 'List which mail uses which pool',
  },
  'POST /sources/assignments': {
    id: 'createPoolAssignment',
    tag: 'Sources',
    summary: 'Send some mail through a pool',
    description:
      'What is left out or null means any. The most specific assignment counts: domain before team before stream. One about the same mail gets the new pool.',
  },
  'DELETE /sources/assignments/:id': {
    id: 'deletePoolAssignment',
    tag: 'Sources',
    summary: 'Remove an assignment',
  },
}

const conditions = [
  ...[
    'domain',
    'provider',
    'pool',
    'stream',
    'tag',
    'state',
    'older_than',
    'newer_than',
    'reply',
    'category',
  ],
  ...['source', 'email_id', 'id', 'team_id'],
].map((name) => `queue_${name}`)
const acts = (id: string, summary: string, description: string): OperationNotes => ({
  id,
  tag: 'Queue',
  summary,
  description,
  errors: ['409'],
})

const queue: Record<string, OperationNotes> = {
  'GET /queue': {
    id: 'listQueue',
    tag: 'Queue',
    summary: 'List what waits',
    description: 'Oldest first, each with what it waits for. Not at the hosted service.',
    query: ['limit', 'after', ...conditions],
  },
  'GET /queue/summary': {
    id: 'getQueueSummary',
    tag: 'Queue',
    summary: 'Count what waits',
    description: 'By state, provider, domain and age.',
    query: conditions,
  },
  'GET /queue/lanes': {
    id: 'listQueueLanes',
    tag: 'Queue',
    summary: 'List the queue by pool and provider',
    description:
      'Each delivery is in exactly one row, so the counts add up to those of `GET /queue/summary`. Of the domains that were never looked up, the 20 with the most have a row of their own, the others share one per pool. Beyond 100 rows the smallest share one. Without conditions, the team that runs the server also gets lanes that nothing waits for.',
    query: conditions,
  },
  'GET /queue/holds': {
    id: 'listHoldRules',
    tag: 'Queue',
    summary: 'List the rules that hold new mail',
    description: 'Each is ended with `POST /queue/undo` and its id.',
  },
  'GET /queue/:id': {
    id: 'getQueuedDelivery',
    tag: 'Queue',
    summary: 'Get a delivery that waits',
    description: 'With what it waits for. Those that are final are in the timeline of their email.',
  },
  'POST /queue/preview': {
    id: 'previewQueueChange',
    tag: 'Queue',
    summary: 'See what an action would touch',
    description: 'Counts, and the ten oldest. Nothing is changed.',
  },
  'POST /queue/hold': acts(
    'holdQueue',
    'Hold mail',
    'No further attempts until it is released; those under way end. With `new` a rule holds new mail of the same domain, provider, team and tag, too.',
  ),
  'POST /queue/release': acts(
    'releaseQueue',
    'Release mail that is held',
    'What the team that runs the server holds, only that team releases.',
  ),
  'POST /queue/retry': acts(
    'retryQueue',
    'Try now',
    'Makes waiting mail due now. Its lane still has its limits.',
  ),
  'POST /queue/reroute': acts(
    'rerouteQueue',
    'Move mail to another pool',
    'The next attempt leaves from there. For the team that runs the server.',
  ),
  'POST /queue/expire': acts(
    'expireQueue',
    'Give mail up as expired',
    'As if its time were over: it bounces, and its sender gets a report. Cannot be undone.',
  ),
  'POST /queue/drop': acts('dropQueue', 'Give mail up as failed', 'Cannot be undone.'),
  'POST /queue/undo': acts(
    'undoQueueChange',
    'Take an action back',
    'A hold with its rule, a release or a re-route: for deliveries that nobody touched since.',
  ),
}

const domainBodies: Record<string, OperationNotes> = {
  'GET /domains/:id/bodies': {
    id: 'getDomainBodies',
    tag: 'Domains',
    summary: 'See whether bodies are kept',
  },
  'PUT /domains/:id/bodies': {
    id: 'setDomainBodies',
    tag: 'Domains',
    summary: 'Keep bodies or not',
    description: 'From now on; what was accepted before stays until its time is over.',
  },
}

const erasures: Record<string, OperationNotes> = {
  'POST /erasures': {
    id: 'createErasure',
    tag: 'Erasures',
    summary: "Erase a person's data by address",
    description:
      'Goes on in the background, also after a restart; `GET /erasures/:id` tells how far it is. With `dry_run` nothing is changed: the answer has no id, and what would be touched is counted. Cannot be undone. Not at the hosted service.',
  },
  'GET /erasures': {
    id: 'listErasures',
    tag: 'Erasures',
    summary: 'List erasures',
    description: 'Newest first. Each is the receipt of what was done.',
    query: page,
  },
  'GET /erasures/:id': { id: 'getErasure', tag: 'Erasures', summary: 'Get an erasure' },
}

const others: Record<string, OperationNotes> = {
  ...logSearchOperations,
  'GET /logs': { id: 'listLogs', tag: 'Logs', summary: 'List requests', query: [...page, 'email_id'] },
  'GET /logs/:id': {
    id: 'getLog',
    tag: 'Logs',
    summary: 'Get a request with its answer',
    description: 'Bodies come without secrets and files, at most 16 KiB of each.',
  },
  'GET /retention': {
    id: 'getRetention',
    tag: 'Usage',
    summary: 'See how long what is kept',
    description:
      'With what it takes on the disk, for the team that runs the server. Not at the hosted service.',
  },
  'GET /usage': { id: 'getUsage', tag: 'Usage', summary: 'Get the usage of this day and month' },
  'POST /session': {
    id: 'signIn',
    tag: 'Dashboard',
    summary: 'Sign in',
    description:
      'Answers with a cookie. Where a second factor is set up, 202 and a cookie for the step that is missing. Ten attempts a minute.',
    errors: ['403', '429'],
  },
  'GET /session': { id: 'getSession', tag: 'Dashboard', summary: 'See who is signed in' },
  'DELETE /session': { id: 'signOut', tag: 'Dashboard', summary: 'Sign out' },
  'GET /sandbox/messages': {
    id: 'listSandboxMessages',
    tag: 'Sandbox',
    summary: 'List caught mail',
    query: ['limit'],
  },
  'GET /sandbox/messages/:id': { id: 'getSandboxMessage', tag: 'Sandbox', summary: 'Get a caught message' },
  'GET /healthz': {
    id: 'getHealth',
    tag: 'Service',
    summary: 'Ask whether the server lives',
    description: 'For supervisors: the event loop turns and the storage answers. When not, restart it.',
  },
  'GET /readyz': {
    id: 'getReadiness',
    tag: 'Service',
    summary: 'Ask whether mail is taken',
    description:
      'For load balancers: writes become durable, there is space, and no stop has begun. When not, ask another node.',
  },
  'GET /metrics': {
    id: 'getPrometheus',
    tag: 'Service',
    summary: 'Get the metrics of this process',
    description: 'For Prometheus. For the team that runs the server; `metrics.listen` needs no key.',
    answers: { type: 'text/plain', description: 'The text format of Prometheus.' },
  },
  'GET /doctor': {
    id: 'getDoctor',
    tag: 'Service',
    summary: 'Look at what decides whether mail gets out',
    description:
      'Port 25, reverse DNS, blocklists, resolver, clock, disk, certificate, records of domains. Takes some seconds. For the team that runs the server.',
    query: ['domain', 'wait'],
  },
  'GET /doctor/latest': {
    id: 'getLatestDoctor',
    tag: 'Service',
    summary: 'Get the latest self-check',
    description:
      'What the last complete self-check found, at once. One that is older than 15 minutes is renewed in the background. `complete` is false before the first. For the team that runs the server.',
  },
  'GET /tls/policies/:domain': {
    id: 'getTlsPolicy',
    tag: 'Service',
    summary: 'Look up what a recipient domain demands of TLS',
    description:
      'DANE, MTA-STS and where it wants reports, looked up now; nothing is sent. For the team that runs the server. Not at the hosted service.',
    path: { domain: { description: 'The recipient domain.', schema: text } },
  },
  'GET /tls/results': {
    id: 'listTlsResults',
    tag: 'Service',
    summary: 'List what became of TLS',
    description:
      'Sessions with recipient domains by day and outcome, the newest day first: of the last seven days, at most 1000 rows. For the team that runs the server.',
    query: ['domain'],
  },
  'GET /certificates': {
    id: 'listCertificates',
    tag: 'Service',
    summary: 'List the TLS certificates of the server',
    description:
      'Those that HTTPS and SMTP show, with their ends, and what a certificate authority did not give. For the team that runs the server.',
  },
  'GET /openapi.json': { id: 'getDocument', tag: 'Service', summary: 'Get this document' },
}

/** All operations, in the order of the reference. */
export const OPERATIONS: Record<string, OperationNotes> = {
  ...emails,
  ...emailSearchOperations,
  ...auditOperations,
  ...aliases,
  ...domains,
  ...domainBodies,
  ...FIRST_RUN,
  ...FACTORS,
  ...IDENTITY_OPERATIONS,
  ...TEAMS,
  ...ACCOUNT,
  ...apiKeys,
  ...suppressions,
  ...erasures,
  ...webhooks,
  ...queue,
  ...sources,
  ...shaping,
  ...NODES,
  ...others,
}
