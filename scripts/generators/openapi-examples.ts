/** Builds example bodies for the document: from the schemas' own examples, with plausible values for other fields. */
import type { Schema } from '../../appliance/api/shared.ts'

/** Typical values, by field name. */
const FIELDS: Record<string, unknown> = {
  from: 'Acme <hello@acme.example>',
  to: ['ada@customer.example'],
  cc: null,
  bcc: null,
  reply_to: ['support@acme.example'],
  subject: 'Your order has shipped',
  html: '<p>It is on its way.</p>',
  text: 'It is on its way.',
  message_id: '<0199c0de-7a10-7c3e-9b6f-3d1e0a5b2c4d@acme.example>',
  scheduled_at: null,
  last_event: 'delivered',
  filename: 'invoice.pdf',
  content_type: 'application/pdf',
  content_disposition: 'attachment',
  download_url: 'https://mail.acme.example/downloads/attachments/…',
  url: 'https://mail.acme.example/shared/…',
  size: 48_213,
  email: 'ada@customer.example',
  emails: ['ada@customer.example'],
  recipient: 'ada@customer.example',
  pool: 'default',
  provider: 'hosting.example',
  domain: 'acme.example',
  fqdn: 'posthaste._domainkey.acme.example',
  region: 'us-east-1',
  token: 're_…',
  host: 'mx.customer.example',
  ip: '192.0.2.7',
  password: '…',
  message: 'Missing `to` field.',
  statusCode: 422,
  found: [],
  note: null,
  errors: [],
  priority: 10,
  has_more: false,
}

const ID = '0199c0de-7a10-7c3e-9b6f-3d1e0a5b2c4d'

/** Returns an example that matches a schema: its required fields, and those with an example of their own. */
export function createExample(schema: Schema, field = ''): unknown {
  if (schema.examples?.length) return schema.examples[0]
  if ('const' in schema) return schema.const
  if (field in FIELDS && fits(schema, FIELDS[field])) return FIELDS[field]
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf)
    return createExample(schema.anyOf.find(({ type }) => type !== 'null') ?? { type: 'null' }, field)
  if (schema.type === 'array') return [createExample(schema.items ?? {}, field.replace(/s$/, ''))]
  if (schema.type === 'object') return exampleObject(schema)
  return exampleScalar(schema)
}

function exampleObject({ properties = {}, required = [] }: Schema): Record<string, unknown> {
  const shown = Object.entries(properties).filter(
    ([name, part]) => required.includes(name) || part.examples !== undefined || SHOWN.has(name),
  )
  return Object.fromEntries(shown.map(([name, part]) => [name, createExample(part, name)]))
}

/** Optional fields that every example includes, because it would be useless without them. */
const SHOWN = new Set(['html', 'filename'])

function exampleScalar({ type, format, minimum }: Schema): unknown {
  if (type === 'boolean') return false
  if (type === 'integer' || type === 'number') return minimum ?? 0
  if (type === 'null') return null
  return format === 'uuid' ? ID : 'text'
}

/** Whether a value has the schema's type, as far as examples need this check. */
function fits(schema: Schema, value: unknown): boolean {
  if (schema.anyOf) return schema.anyOf.some((part) => fits(part, value))
  if (schema.enum) return schema.enum.includes(value)
  const own = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  if (own !== (schema.type === 'integer' ? 'number' : schema.type)) return false
  return !Array.isArray(value) || value.every((one) => fits(schema.items ?? {}, one))
}
