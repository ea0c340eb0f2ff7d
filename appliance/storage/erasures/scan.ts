import { addressHash, createEraser, type ErasureCounts, pseudonymOf } from '../../mail/erasure.ts'
import type { Db } from '../schema.ts'

/** One erasure as its phases see it. */
export interface Scan {
  teamId: string
  /** In A-labels. */
  address: string
  hash: string
  pseudonym: string
  eraser: ReturnType<typeof createEraser>
  /** False: nothing is changed. */
  write: boolean
  /** Received emails whose files were searched, and whether they name the address. */
  searched: ReadonlyMap<string, boolean>
}

/** What was found in files; the engine searches them, because the storage threads know only rows. */
export type Searched = readonly { id: string; named: boolean }[]

/** What one step of a phase found. */
export interface Part {
  counts: Partial<ErasureCounts>
  /** Where the next step of the phase begins; null: it is through. */
  next: string | null
  /** Emails whose messages were files: the engine removes those after the commit. */
  files?: string[]
}

/** A step of a phase: looks at a bounded number of rows after `after`. */
export type Phase = (db: Db, scan: Scan, after: string, now: number) => Promise<Part>

/** The key of the hashes; a migration made it. */
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
