import type * as schema from '../http/schemas/suppressions.ts'
import type { Suppression } from '../storage/storage.ts'
import { timestamp } from './timestamp.ts'

/** GET /suppressions/:id, and an element of the list. */
export function presentSuppression(suppression: Suppression): schema.Suppression {
  return {
    object: 'suppression',
    id: suppression.id,
    email: suppression.email,
    origin: suppression.origin,
    source_id: suppression.sourceId,
    created_at: timestamp(suppression.createdAt),
  }
}
