import { Type, type Static } from 'typebox'
import { kind, literals, Nullable, object, optionalText, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import type { ApiKey as StoredApiKey } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { byId, query, shortPage } from './parameters.ts'

const Name = string('Name of the key, at most 50 characters.')

/** POST /api-keys. Invalid permissions are refused as `invalid_access`, so the schema takes any text. */
export const CreateApiKey = object('A new key.', {
  name: Name,
  permission: optionalText('full_access (default) or sending_access.'),
  domain_id: optionalText('The only domain that the key can send from, by id; only with sending_access.'),
})
/** The response to POST /api-keys, the only one with the token. */
export const ApiKeyCreated = object('The key, with its token.', {
  object: kind('api_key'),
  id: Id,
  token: string('The token. Shown only in this response.', { examples: ['re_Ab12Cd34_…'] }),
})

/** An element of GET /api-keys; the hosted API lacks the last three fields. */
export const ApiKey = object('A key, without its token.', {
  id: Id,
  name: Name,
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp, 'When the key was last used; null: never.'),
  permission: literals(
    ['full_access', 'sending_access'],
    'full_access: everything · sending_access: sending only.',
  ),
  domain_id: Nullable(Id, 'The only domain it can send from; null: any domain of the team.'),
  prefix: Nullable(Type.String(), {
    description: 'The first characters of its token; null: created by an older version and not used since.',
    examples: ['re_Ab12Cd34'],
  }),
})
export type ApiKey = Static<typeof ApiKey>
export const ApiKeyList = listOf(ApiKey, 'keys')

export const UpdateApiKey = object('The new name of a key.', { name: Name })
export const ApiKeyRef = object('The changed key.', { object: kind('api_key'), id: Id })
export const ApiKeyDeleted = object('The deleted key. Requests with it are refused from now on.', {
  object: kind('api_key'),
  id: Id,
  deleted: Deleted,
})

const operation = operationsIn('API keys')

export const createApiKey = operation('POST /api-keys', {
  summary: 'Create an API key',
  description: 'The token is shown only in this response.',
  body: CreateApiKey,
  response: { 201: ApiKeyCreated },
})
export const listApiKeys = operation('GET /api-keys', {
  summary: 'List API keys',
  querystring: query(shortPage),
  response: { 200: ApiKeyList },
})
export const renameApiKey = operation('PATCH /api-keys/:id', {
  summary: 'Rename an API key',
  params: byId,
  body: UpdateApiKey,
  response: { 200: ApiKeyRef },
})
export const deleteApiKey = operation('DELETE /api-keys/:id', {
  summary: 'Delete an API key',
  description: 'It stops working immediately. Emails sent with it are kept.',
  params: byId,
  response: { 200: ApiKeyDeleted },
})

/** Formats an element of GET /api-keys. The hosted API lacks permission, domain and prefix. */
export function presentApiKey(key: StoredApiKey): ApiKey {
  return { ...presentApiKeySetting(key), prefix: key.prefix }
}

/** Formats a key for the audit log, without any part of its token. */
export function presentApiKeySetting(key: StoredApiKey): Omit<ApiKey, 'prefix'> {
  return {
    id: key.id,
    name: key.name,
    created_at: timestamp(key.createdAt),
    last_used_at: timestampOrNull(key.lastUsedAt),
    permission: key.permission,
    domain_id: key.domainId,
  }
}
