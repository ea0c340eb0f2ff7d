/** Defines an API operation: its request, responses and documentation. */
import { Type, type TSchema } from 'typebox'

/**
 * Who may use an operation. public: everyone · sending: all keys, and people · full: keys with full access, and people
 * · people: only people in the dashboard
 */
export type Access = 'public' | 'sending' | 'full' | 'people'

/** The groups of the API reference, in order. */
export const TAGS = [
  { name: 'Emails', description: 'Send emails and see what happened to them.' },
  { name: 'Domains', description: 'Domains to send from, and their DNS records.' },
  { name: 'API keys', description: 'Keys that apps authenticate with.' },
  { name: 'Contacts', description: 'People you write to, and what they agreed to.' },
  { name: 'Segments', description: 'Sets of contacts. Older clients call them audiences.' },
  { name: 'Templates', description: 'Content that is stored once and sent often.' },
  { name: 'Topics', description: 'What contacts choose to get mail about.' },
  { name: 'Contact properties', description: 'The properties that contacts can have.' },
  { name: 'Forms', description: 'Sign-up forms with double opt-in.' },
  { name: 'Archive', description: 'The public archive of broadcasts.' },
  { name: 'Broadcasts', description: 'One email to each contact of a segment.' },
  { name: 'Alerts', description: 'Problems with the mail of a team, before a limit is reached.' },
  { name: 'Automations', description: 'Steps that run for a contact when an event arrives.' },
  { name: 'Events', description: 'Custom events: what apps tell about contacts.' },
  { name: 'Images', description: 'Images that emails show.' },
  { name: 'Suppressions', description: 'Addresses that this server does not send to.' },
  { name: 'Erasures', description: 'Erase the data of one address, with a receipt.' },
  { name: 'Receiving', description: 'Email received at domains with receiving enabled.' },
  { name: 'Webhooks', description: 'URLs that receive events, and the log of webhook deliveries.' },
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
] as const

/** A response that is not JSON. */
export interface NonJsonContent {
  description: string
  content: Record<string, { schema: TSchema }>
}

/** The schema of a route for Fastify, with the texts of the OpenAPI document. */
export interface OperationSchema {
  /** Default: `full`. */
  access?: Access
  /** A few words. */
  summary: string
  /** Description in whole sentences: effects and limits. */
  description?: string
  deprecated?: true
  params?: TSchema
  querystring?: TSchema
  /** Documents header fields only; the handler reads and checks them. */
  headers?: TSchema
  body?: TSchema
  /** Media type of the body if it isn't JSON. */
  consumes?: ['multipart/form-data']
  /** By status. */
  response: Readonly<Record<number, TSchema | NonJsonContent>>
  /** Error statuses that can't be derived from the other fields. */
  errors?: readonly string[]
}

/** The name of a group of the API reference. */
type Group = (typeof TAGS)[number]['name']

/**
 * An operation of the API. Its exported name is its `operationId` in the OpenAPI document, which client generators use
 * as the method name.
 */
export interface Operation<S extends OperationSchema = OperationSchema> {
  method: Method
  /** In the router's syntax: `/emails/:id`. */
  url: string
  access: Access
  group: Group
  schema: S
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Returns a function that defines the operations of one group from their routes, such as `GET /emails/:id`. */
export function operationsIn(group: Group) {
  return <const S extends OperationSchema>(route: `${Method} /${string}`, schema: S): Operation<S> => {
    const [method, url] = route.split(' ') as [Method, string]
    return { method, url, access: schema.access ?? 'full', group, schema }
  }
}

/** Describes a response that is not JSON: text or octets of a media type. */
export const nonJsonContent = (type: string, description: string): NonJsonContent => ({
  description,
  content: { [type]: { schema: Type.String() } },
})
