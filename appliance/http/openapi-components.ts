/** Names the schemas: an exported schema is a component of the document under the name of its export. */
import { setImmediate } from 'node:timers/promises'
import * as account from '../api/account.ts'
import * as apiKeys from '../api/api-keys.ts'
import * as attachments from '../api/attachments.ts'
import * as audiences from '../api/audiences.ts'
import * as contactImportPreviews from '../api/contact-import-previews.ts'
import * as contactImports from '../api/contact-imports.ts'
import * as contactDetails from '../api/contact-details.ts'
import * as contactProperties from '../api/contact-properties.ts'
import * as contacts from '../api/contacts.ts'
import * as doctor from '../api/doctor.ts'
import * as domains from '../api/domains.ts'
import * as audit from '../api/audit.ts'
import * as emailSearch from '../api/email-search.ts'
import * as emails from '../api/emails.ts'
import * as erasures from '../api/erasures.ts'
import * as factors from '../api/factors.ts'
import * as health from '../api/health.ts'
import * as identities from '../api/identities.ts'
import * as logs from '../api/logs.ts'
import * as members from '../api/members.ts'
import * as metrics from '../api/metrics.ts'
import * as nodes from '../api/nodes.ts'
import * as propagation from '../api/propagation.ts'
import * as queue from '../api/queue.ts'
import * as received from '../api/received.ts'
import * as recipients from '../api/recipients.ts'
import * as retention from '../api/retention.ts'
import * as sandbox from '../api/sandbox.ts'
import * as sending from '../api/sending.ts'
import * as segments from '../api/segments.ts'
import * as service from '../api/service.ts'
import * as session from '../api/session.ts'
import * as setUp from '../api/set-up.ts'
import * as shared from '../api/shared.ts'
import * as shaping from '../api/shaping.ts'
import * as sources from '../api/sources.ts'
import * as suppressions from '../api/suppressions.ts'
import * as teams from '../api/teams.ts'
import * as topics from '../api/topics.ts'
import * as unsubscribePage from '../api/unsubscribe-page.ts'
import * as webhookEvents from '../api/webhook-events.ts'
import * as webhooks from '../api/webhooks.ts'
import * as timeline from '../api/timeline.ts'
import * as certificates from '../api/certificates.ts'
import * as tls from '../api/tls.ts'
import * as usage from '../api/usage.ts'
import type { OperationSchema, Access } from '../api/operation.ts'

/** One route as the document needs it. */
export interface RouteFacts {
  method: string
  /** As the router has it: `/emails/:id`. */
  url: string
  access: Access
  body: Schema | undefined
  /** By status. */
  responses: Record<string, Schema>
  /** Undefined: no part of the API, such as pages and files for browsers. */
  contract: OperationSchema | undefined
}

export interface Content {
  'application/json'?: { schema: Schema; example?: unknown }
  [type: string]: { schema: Schema; example?: unknown } | undefined
}

/** A route of an operation. */
export type DescribedRoute = RouteFacts & { contract: OperationSchema }

export interface Response {
  description: string
  content?: Content
}

/** The parts of JSON Schema (2020-12) that our schemas use. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  examples?: unknown[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  patternProperties?: Record<string, Schema>
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
}

const MODULES: Record<string, unknown>[] = [
  ...[
    shared,
    sending,
    emails,
    audit,
    emailSearch,
    attachments,
    timeline,
    domains,
    apiKeys,
    contacts,
    contactDetails,
    contactImports,
    contactImportPreviews,
    segments,
    audiences,
    topics,
    unsubscribePage,
    contactProperties,
    suppressions,
    erasures,
    webhooks,
    webhookEvents,
  ],
  ...[
    logs,
    metrics,
    usage,
    nodes,
    received,
    recipients,
    retention,
    queue,
    sources,
    shaping,
    doctor,
    health,
    tls,
    certificates,
    sandbox,
    propagation,
    setUp,
    identities,
    service,
    session,
    teams,
    members,
    account,
    factors,
  ],
]

/** Everything that is exported as a schema of objects or lists; texts and numbers are written out where they stand. */
function exported(): [name: string, schema: Schema][] {
  return MODULES.flatMap((module) => Object.entries(module)).flatMap(([name, value]) =>
    isSchema(value) && (value.type === 'object' || value.type === 'array') ? [[name, value]] : [],
  )
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && ('type' in value || 'anyOf' in value)

/**
 * Component names by the text of the schema: wrappers such as `Type.Optional` copy a schema, so identity would not do.
 * Of two names for one shape the first counts.
 * @throws when one name stands for two shapes
 */
export function components(): Map<string, string> {
  const names = new Map<string, string>()
  const shapes = new Map<string, string>()
  for (const [name, schema] of exported()) {
    const text = JSON.stringify(schema)
    if ((shapes.get(name) ?? text) !== text)
      throw new Error(`Two schemas are exported as ${name}: components of the API document need a name each.`)
    shapes.set(name, text)
    if (!names.has(text)) names.set(text, name)
  }
  return names
}

/** The schema with every named part replaced by a reference to its component. */
export function referring(schema: Schema, named: Map<string, string>): Schema {
  const name = named.get(JSON.stringify(schema))
  return name === undefined ? inside(schema, named) : { $ref: `#/components/schemas/${name}` }
}

/** The schema itself written out, its parts as references. */
function inside(schema: Schema, named: Map<string, string>): Schema {
  const { items, anyOf, properties, patternProperties, ...rest } = schema
  const [values] = Object.values(patternProperties ?? {})
  return {
    ...rest,
    ...(anyOf && { anyOf: anyOf.map((part) => referring(part, named)) }),
    ...(items && { items: referring(items, named) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, part]) => [name, referring(part, named)]),
      ),
    }),
    // A record with any keys: the plain way to write it is understood by every generator of clients.
    ...(values && { additionalProperties: referring(values, named) }),
  }
}

/** The components that a document refers to, directly or through others, by name. */
export async function componentsUsed(
  document: object,
  named: Map<string, string>,
): Promise<Record<string, Schema>> {
  const used: Record<string, Schema> = {}
  const byName = new Map(exported().map(([name, schema]) => [name, schema]))
  const visit = async (part: object): Promise<void> => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = byName.get(name)
      if (!schema || name in used) continue
      await setImmediate() // Others have their turns.
      used[name] = inside(schema, named)
      await visit(used[name])
    }
  }
  await visit(document)
  return Object.fromEntries(Object.entries(used).sort(([a], [b]) => (a < b ? -1 : 1)))
}
