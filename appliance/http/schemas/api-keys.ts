import { Type, type Static } from 'typebox'
import { Id, listOf, literals, Nullable, Timestamp } from './shared.ts'

/** POST /api-keys. What is no permission is refused as `invalid_access`, so the schema takes any text. */
export const CreateApiKey = Type.Object({
  name: Type.String({ description: 'At most 50 characters.' }),
  permission: Type.Optional(Type.String({ description: 'full_access (default) or sending_access.' })),
  domain_id: Type.Optional(
    Nullable(Type.String({ description: 'The only domain it may send from; with sending_access only.' })),
  ),
})
/** What it answers: the token is shown this once. */
export const ApiKeyCreated = Type.Object({
  object: Type.Literal('api_key'),
  id: Id,
  token: Type.String({ examples: ['re_Ab12Cd34_…'] }),
})

/** An element of GET /api-keys; the last two fields are ours. */
export const ApiKey = Type.Object({
  id: Id,
  name: Type.String(),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  permission: literals(['full_access', 'sending_access']),
  domain_id: Nullable(Id),
})
export type ApiKey = Static<typeof ApiKey>
export const ApiKeyList = listOf(ApiKey)

/** PATCH /api-keys/:id */
export const UpdateApiKey = Type.Object({ name: Type.String({ description: 'At most 50 characters.' }) })
export const ApiKeyRef = Type.Object({ object: Type.Literal('api_key'), id: Id })
/** DELETE /api-keys/:id */
export const ApiKeyDeleted = Type.Object({
  object: Type.Literal('api_key'),
  id: Id,
  deleted: Type.Literal(true),
})
