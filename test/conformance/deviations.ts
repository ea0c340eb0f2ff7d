/** Where the hosted service's document differs from its actual responses. Each deviation has a name and a reason. */

/** A JSON Schema as plain data. */
export interface Schema {
  $ref?: string
  allOf?: Schema[]
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  nullable?: boolean
  format?: string
  pattern?: string
  enum?: unknown[]
  const?: unknown
  [keyword: string]: unknown
}

interface Place {
  /** Operation and status: `GET /emails 200`. */
  at: string
  /** Path from the response's schema to the object, with `[]` for the items of an array. */
  path?: string[]
}

interface Deviation extends Place {
  name: string
  reason: string
  /** Fields that may be missing. */
  optional?: string[]
  /** Fields that may be null. */
  nullable?: string[]
  /** A schema that replaces the document's. */
  instead?: Schema
}

const text: Schema = { type: 'string' }
const count: Schema = { type: 'integer', minimum: 0 }
const nullableCount: Schema = { type: ['integer', 'null'], minimum: 0 }
const reference = (object: string): Schema => ({
  type: 'object',
  properties: { object: { const: object }, id: { type: 'string', format: 'uuid' } },
})

export const DEVIATIONS: Deviation[] = [
  {
    name: 'lists omit bodies',
    at: 'GET /emails 200',
    path: ['data', '[]'],
    optional: ['object', 'html', 'text'],
    reason: 'recorded responses omit these in lists; the document uses the schema of a single email',
  },
  {
    name: 'missing addresses and bodies are null',
    at: 'GET /emails 200',
    path: ['data', '[]'],
    nullable: ['cc', 'bcc', 'reply_to', 'message_id'],
    reason: 'recorded responses have null; the Rust client requires the keys',
  },
  {
    name: 'missing addresses and bodies are null',
    at: 'GET /emails/{email_id} 200',
    nullable: ['cc', 'bcc', 'reply_to', 'html', 'text', 'message_id'],
    reason: 'recorded responses have null; the Rust client requires the keys',
  },
  {
    name: 'changes return a reference',
    at: 'PATCH /emails/{email_id} 200',
    instead: reference('email'),
    reason: 'the document repeats the request; all clients read `object` and `id`',
  },
  {
    name: 'changes return a reference',
    at: 'POST /emails/{email_id}/cancel 200',
    instead: reference('email'),
    reason: 'the document has the whole email; all clients read `object` and `id`',
  },
  {
    name: 'only inline attachments have a content id',
    at: 'GET /emails/receiving 200',
    path: ['data', '[]', 'attachments', '[]'],
    nullable: ['content_id'],
    reason: 'other attachments have none; the reference of the hosted service allows null',
  },
  {
    name: 'only inline attachments have a content id',
    at: 'GET /emails/receiving/{email_id} 200',
    path: ['attachments', '[]'],
    nullable: ['content_id'],
    reason: 'other attachments have none; the reference of the hosted service allows null',
  },
  {
    name: 'only inline attachments have a content id',
    at: 'GET /emails/receiving/{email_id}/attachments 200',
    path: ['data', '[]'],
    optional: ['content_id'],
    reason: 'other attachments have none; the reference of the hosted service allows null',
  },
  {
    name: 'only inline attachments have a content id',
    at: 'GET /emails/receiving/{email_id}/attachments/{attachment_id} 200',
    optional: ['content_id'],
    reason: 'other attachments have none; the reference of the hosted service allows null',
  },
  {
    name: 'only inline attachments have a content id',
    at: 'GET /emails/{email_id}/attachments 200',
    path: ['data', '[]'],
    optional: ['content_id'],
    reason: 'optional in all clients',
  },
  {
    name: 'only inline attachments have a content id',
    at: 'GET /emails/{email_id}/attachments/{attachment_id} 200',
    optional: ['content_id'],
    reason: 'optional in all clients',
  },
  {
    name: 'metrics contain only what was requested',
    at: 'GET /emails/metrics 200',
    optional: ['data'],
    reason: 'the description says that `data` is absent without dimensions; optional in the client',
  },
  {
    name: 'metrics contain only what was requested',
    at: 'GET /emails/metrics 200',
    path: ['data', '[]'],
    optional: ['period', 'domain_id', 'domain_name', 'email_id', 'broadcast_id', 'broadcast_name'],
    reason: 'each description says "present when … is in `dimensions`"; optional in the client',
  },
  ...['POST /domains 201', 'GET /domains/{domain_id} 200'].flatMap((at): Deviation[] => [
    {
      name: 'only MX records have a priority',
      at,
      path: ['records', '[]'],
      optional: ['priority'],
      reason: 'recorded responses have it only on MX records',
    },
    {
      name: '`tracking_subdomain` is absent if not set',
      at,
      optional: ['tracking_subdomain'],
      reason: 'recorded responses omit it',
    },
  ]),
  {
    name: '`filter` is null for a segment without rules',
    at: 'GET /segments/{id} 200',
    nullable: ['filter'],
    reason: 'tells apart the segments that contacts can be added to',
  },
  {
    name: 'missing names are null',
    at: 'GET /contacts 200',
    path: ['data', '[]'],
    nullable: ['first_name', 'last_name'],
    reason: 'recorded responses have null; nullable in all clients',
  },
  {
    name: 'missing names are null',
    at: 'GET /contacts/{id} 200',
    nullable: ['first_name', 'last_name'],
    reason: 'recorded responses have null; nullable in all clients',
  },
  {
    name: 'segments have no audience',
    at: 'GET /segments/{id} 200',
    optional: ['audience_id', 'filter'],
    reason: 'recorded responses omit these: a segment is what an audience was',
  },
  {
    name: 'segments have no audience',
    at: 'GET /segments 200',
    path: ['data', '[]'],
    optional: ['audience_id'],
    reason: 'recorded responses omit it: a segment is what an audience was',
  },
  ...['GET /topics 200', 'GET /contacts/{contact_id}/topics 200'].map((at): Deviation => ({
    name: 'a missing description is null',
    at,
    path: ['data', '[]'],
    nullable: ['description'],
    reason: 'nullable in all clients',
  })),
  {
    name: 'a missing description is null',
    at: 'GET /topics/{id} 200',
    nullable: ['description'],
    reason: 'nullable in all clients',
  },
  {
    name: 'a missing alias is null',
    at: 'GET /templates 200',
    path: ['data', '[]'],
    nullable: ['alias'],
    reason: 'nullable in all clients',
  },
  {
    name: 'what a broadcast does not have is null',
    at: 'GET /broadcasts/{id} 200',
    nullable: ['scheduled_at', 'sent_at', 'topic_id', 'reply_to', 'preview_text', 'html', 'text'],
    reason: 'nullable in all clients',
  },
  {
    name: 'what a broadcast does not have is null',
    at: 'GET /broadcasts 200',
    path: ['data', '[]'],
    nullable: ['scheduled_at', 'sent_at', 'topic_id'],
    reason: 'nullable in all clients',
  },
  {
    name: 'what a template does not set is null',
    at: 'GET /templates/{id} 200',
    nullable: ['alias', 'from', 'subject', 'text'],
    reason: 'nullable in all clients',
  },
  {
    name: 'a missing fallback is null',
    at: 'GET /templates/{id} 200',
    path: ['variables', '[]'],
    nullable: ['fallback_value'],
    reason: 'nullable in all clients',
  },
  {
    name: 'a missing fallback is null',
    at: 'GET /contact-properties 200',
    path: ['data', '[]'],
    nullable: ['fallback_value'],
    reason: 'nullable in all clients',
  },
  {
    name: 'a missing fallback is null',
    at: 'GET /contact-properties/{id} 200',
    nullable: ['fallback_value'],
    reason: 'nullable in all clients',
  },
]

/** The fields of a listed contact that the client reads. */
const contactSummary: Schema = {
  type: 'object',
  properties: {
    id: text,
    email: text,
    first_name: { type: ['string', 'null'] },
    last_name: { type: ['string', 'null'] },
    created_at: text,
    unsubscribed: { type: 'boolean' },
  },
}
const listed = (items: Schema): Schema => ({
  type: 'object',
  properties: { object: { const: 'list' }, has_more: { type: 'boolean' }, data: { type: 'array', items } },
})
const contactDeleted: Schema = {
  type: 'object',
  properties: { object: { const: 'contact' }, contact: text, deleted: { const: true } },
}

/** Operations that the client has and the document lacks, with the shapes from the client's types. */
export const ADDED: Record<string, Record<string, Schema>> = {
  'PATCH /segments/{id}': { 200: reference('segment') },
  'POST /broadcasts/{id}/duplicate': { 200: reference('broadcast') },
  'GET /segments/{id}/contacts': { 200: listed(contactSummary) },
  'POST /audiences/{audience_id}/contacts': { 201: reference('contact') },
  'GET /audiences/{audience_id}/contacts': { 200: listed(contactSummary) },
  'GET /audiences/{audience_id}/contacts/{contact}': {
    200: { type: 'object', properties: { object: { const: 'contact' }, id: text, email: text } },
  },
  'PATCH /audiences/{audience_id}/contacts/{contact}': { 200: reference('contact') },
  'DELETE /audiences/{audience_id}/contacts/{contact}': { 200: contactDeleted },
  'GET /usage': {
    200: {
      type: 'object',
      properties: {
        object: { const: 'usage' },
        emails: {
          type: 'object',
          properties: {
            daily: usagePeriod(nullableCount),
            monthly: usagePeriod(count),
          },
        },
        contacts: { type: 'object', properties: { used: count, limit: count } },
        segments: { type: 'object', properties: { used: count, limit: nullableCount } },
        broadcasts: { type: 'object', properties: { used: count, limit: { type: 'null' } } },
        ai_credits: {
          type: 'object',
          properties: { used: count, limit: nullableCount, next_increase_at: { type: ['string', 'null'] } },
        },
        automation_runs: { type: 'object', properties: { used: count, limit: count, resets_at: text } },
        domains: { type: 'object', properties: { used: count, limit: nullableCount } },
        rate_limit: { type: 'object', properties: { limit: count, duration: text } },
      },
    },
  },
}

function usagePeriod(limit: Schema): Schema {
  return {
    type: 'object',
    properties: { used: count, limit, sent: count, received: count, resets_at: text },
  }
}
