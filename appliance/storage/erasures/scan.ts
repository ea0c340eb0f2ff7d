import { addressHash, createEraser, type ErasureCounts, pseudonymOf } from '../../mail/erasure.ts'
import type { Db } from '../schema.ts'

/** The parameters of an erasure for its phases. */
export interface Scan {
  teamId: string
  /** In A-labels. */
  address: string
  hash: string
  pseudonym: string
  eraser: ReturnType<typeof createEraser>
  /** Whether to write changes; false only counts them. */
  write: boolean
  /** Received emails with searched files, and whether they contain the address. */
  searched: ReadonlyMap<string, boolean>
}

/** Matches in files. The engine searches them, because the storage threads only know rows. */
export type Searched = readonly { id: string; named: boolean }[]

/** The result of one step of a phase. */
export interface Part {
  counts: Partial<ErasureCounts>
  /** Where the next step of the phase begins; null: the phase is done. */
  next: string | null
  /** Emails with messages in files. The engine deletes those after the commit. */
  files?: string[]
}

/** A step of a phase. Examines a bounded number of rows after `after`. */
export type Phase = (db: Db, scan: Scan, after: string, now: number) => Promise<Part>

/** Returns the key of the hashes, which a migration created. */
export async function erasureKey(db: Db): Promise<Uint8Array> {
  const { value } = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', 'erasures')
    .executeTakeFirstOrThrow()
  return value
}

export async function scanOf(
  db: Db,
  {
    teamId,
    address,
    write,
    searched = [],
  }: Pick<Scan, 'teamId' | 'address' | 'write'> & { searched?: Searched | undefined },
): Promise<Scan> {
  const hash = addressHash(await erasureKey(db), teamId, address)
  const pseudonym = pseudonymOf(hash)
  const eraser = createEraser(address, pseudonym)
  const files = new Map(searched.map(({ id, named }) => [id, named]))
  return { teamId, address, hash, pseudonym, eraser, write, searched: files }
}
