import { Type, type Static } from 'typebox'
import { Id, listOf, literals, Nullable, Timestamp } from './shared.ts'

const reference = { object: Type.Literal('suppression'), id: Id }

/** POST /suppressions */
export const CreateSuppression = Type.Object({ email: Type.String({ examples: ['steve@example.com'] }) })
export const SuppressionRef = Type.Object(reference)

const summary = {
  id: Id,
  email: Type.String(),
  origin: literals(['bounce', 'complaint', 'manual']),
  source_id: Nullable(Type.String({ description: 'The email that bounced or was complained about.' })),
  created_at: Timestamp,
}
/** An element of GET /suppressions, and with `object` GET /suppressions/:id. */
export const Suppression = Type.Object({ object: Type.Literal('suppression'), ...summary })
export type Suppression = Static<typeof Suppression>
export const SuppressionList = listOf(Suppression)

/** DELETE /suppressions/:id */
export const SuppressionDeleted = Type.Object({ ...reference, deleted: Type.Literal(true) })

/** POST /suppressions/batch/add: 1 to 100 addresses. */
export const AddSuppressions = Type.Object({ emails: Type.Array(Type.String()) })
export const SuppressionsAdded = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(SuppressionRef),
})
/** POST /suppressions/batch/remove: 1 to 100 addresses or ids, not both. */
export const RemoveSuppressions = Type.Object({
  emails: Type.Optional(Type.Array(Type.String())),
  ids: Type.Optional(Type.Array(Type.String())),
})
export const SuppressionsRemoved = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(SuppressionDeleted),
})
