import type * as schema from '../http/schemas/erasures.ts'
import type { Erasure, ErasureCounts } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from '../api/timestamp.ts'

/** GET /erasures/:id, an element of the list, and what the command prints. */
export function presentErasure({ id, hash, actor, createdAt, finishedAt, counts }: Erasure): schema.Erasure {
  return {
    object: 'erasure',
    id,
    status: finishedAt === null ? 'running' : 'done',
    address_hash: hash,
    actor,
    created_at: timestamp(createdAt),
    finished_at: timestampOrNull(finishedAt),
    counts,
  }
}

/** What an erasure would touch. @param at when it was counted, in Unix milliseconds */
export function presentErasureSurvey(counts: ErasureCounts, at: number): schema.Erasure {
  const never = { id: null, address_hash: null, actor: null, finished_at: null }
  return { object: 'erasure', status: 'dry_run', ...never, created_at: timestamp(at), counts }
}
