/** What the document says of each route beside its schemas. Keys are method and path as the router has them. */
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

/** Query parameters and request headers. */
export const PARAMETERS: Record<string, { description: string; schema: Schema }> = {
  limit: {
    description: 'How many, from 1 to 100.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
  after: { description: 'The page after this id, not including it.', schema: uuid },
  before: { description: 'The page before this id, not including it.', schema: uuid },
  email_id: { description: 'Only the request that made this email, and its repetitions.', schema: uuid },
  origin: {
    description: 'Only those that came about like this.',
    schema: { type: 'string', enum: ['bounce', 'complaint', 'manual'] },
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
  { name: 'Logs', description: 'The requests of apps, with their answers.' },
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
  },
  'POST /emails/batch': {
    id: 'sendBatch',
    tag: 'Emails',
    summary: 'Send up to 100 emails',
    description: 'Each element of the array is an email of its own. They are stored together, in one step.',
    headers: ['Idempotency-Key', 'x-batch-validation'],
  },
  'GET /emails': { id: 'listEmails', tag: 'Emails', summary: 'List emails', query: page },
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
    query: [...page, 'origin'],
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

const others: Record<string, OperationNotes> = {
  'GET /logs': { id: 'listLogs', tag: 'Logs', summary: 'List requests', query: [...page, 'email_id'] },
  'GET /logs/:id': {
    id: 'getLog',
    tag: 'Logs',
    summary: 'Get a request with its answer',
    description: 'Bodies come without secrets and files, at most 16 KiB of each.',
  },
  'GET /usage': { id: 'getUsage', tag: 'Usage', summary: 'Get the usage of this day and month' },
  'POST /session': {
    id: 'signIn',
    tag: 'Dashboard',
    summary: 'Sign in',
    description: 'Answers with a cookie. Ten attempts a minute.',
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
    summary: 'Ask whether mail can be taken',
    description: 'For load balancers and supervisors.',
  },
  'GET /openapi.json': { id: 'getDocument', tag: 'Service', summary: 'Get this document' },
}

/** All operations, in the order of the reference. */
export const OPERATIONS: Record<string, OperationNotes> = {
  ...emails,
  ...aliases,
  ...domains,
  ...apiKeys,
  ...suppressions,
  ...others,
}
