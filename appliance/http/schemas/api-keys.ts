import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

const Name = Type.String({ description: 'Name of the key, at most 50 characters.' })

/** POST /api-keys. What is no permission is refused as `invalid_access`, so the schema takes any text. */
export const CreateApiKey = Type.Object(
  {
    name: Name,
    permission: Type.Optional(
      Nullable(Type.String(), { description: 'full_access (default) or sending_access.' }),
    ),
    domain_id: Type.Optional(
      Nullable(Type.String(), {
        description: 'The only domain that the key can send from, by id; only with sending_access.',
      }),
    ),
  },
  { description: 'A new key.' },
)
/** What it answers: the token is shown this once. */
export const ApiKeyCreated = Type.Object(
  {
    object: kind('api_key'),
    id: Id,
    token: Type.String({
      description: 'The token. Shown only in this response.',
      examples: ['re_Ab12Cd34_…'],
    }),
  },
  { description: 'The key, with its token.' },
)

/** An element of GET /api-keys; the last three fields are ours. */
export const ApiKey = Type.Object(
  {
    id: Id,
    name: Name,
    created_at: Timestamp,
    last_used_at: Nullable(Timestamp, { description: 'When the key was last used; null: never.' }),
    permission: literals(['full_access', 'sending_access'], {
      description: 'full_access: everything · sending_access: sending only.',
    }),
    domain_id: Nullable(Id, {
      description: 'The only domain it can send from; null: any domain of the team.',
    }),
    prefix: Nullable(Type.String(), {
      description: 'The first characters of its token; null: created by an older version and not used since.',
      examples: ['re_Ab12Cd34'],
    }),
  },
  { description: 'A key, without its token.' },
)
export type ApiKey = Static<typeof ApiKey>
export const ApiKeyList = listOf(ApiKey, 'keys')

/** PATCH /api-keys/:id */
export const UpdateApiKey = Type.Object({ name: Name }, { description: 'The new name of a key.' })
export const ApiKeyRef = Type.Object({ object: kind('api_key'), id: Id }, { description: 'The changed key.' })
/** DELETE /api-keys/:id */
export const ApiKeyDeleted = Type.Object(
  { object: kind('api_key'), id: Id, deleted: Deleted },
  { description: 'The deleted key. Requests with it are refused from now on.' },
)
