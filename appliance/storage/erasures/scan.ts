import { hashAddress, createEraser, type ErasureCounts, createPseudonym } from '../../mail/erasure.ts'
import type { Db } from '../schema.ts'

/** The parameters of an erasure for its phases. */
export interface ErasureContext {
  teamId: string
  /** In A-labels. */
  address: string
  hash: string
  pseudonym: string
  eraser: ReturnType<typeof createEraser>
  /** Whether to write changes; false only counts them. */
  write: boolean
  /** Received emails whose files were searched, and whether each contains the address. */
  searched: ReadonlyMap<string, boolean>
}

/** The result of searching files. The engine searches them, because the storage threads handle only rows. */
export type FileSearchResults = readonly { id: string; named: boolean }[]

/** The result of one step of a phase. */
export interface PhaseResult {
  counts: Partial<ErasureCounts>
  /** Position at which the next step of the phase begins; null if the phase is complete. */
  next: string | null
  /** IDs of emails with messages in files, which the engine deletes after the commit. */
  files?: string[]
}

/** A step of a phase. Examines a limited number of rows after `after`. */
export type Phase = (db: Db, scan: ErasureContext, after: string, now: number) => Promise<PhaseResult>

/** Returns the key for hashing addresses, which a migration created. */
export async function getErasureKey(db: Db): Promise<Uint8Array> {
  const { value } = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', 'erasures')
    .executeTakeFirstOrThrow()
  return value
}

export async function createErasureContext(
  db: Db,
  {
    teamId,
    address,
    write,
    searched = [],
  }: Pick<ErasureContext, 'teamId' | 'address' | 'write'> & { searched?: FileSearchResults | undefined },
): Promise<ErasureContext> {
  const hash = hashAddress(await getErasureKey(db), teamId, address)
  const pseudonym = createPseudonym(hash)
  const eraser = createEraser(address, pseudonym)
  const files = new Map(searched.map(({ id, named }) => [id, named]))
  return { teamId, address, hash, pseudonym, eraser, write, searched: files }
}
