/** DKIM keys of domains. */
import type { Selectable } from 'kysely'
import type { Db, DkimKeysTable } from './schema.ts'
import type { DkimKeyState, DkimAlgorithm } from './values.ts'

export interface DkimKey {
  id: string
  teamId: string
  domainId: string
  selector: string
  algorithm: DkimAlgorithm
  /** PKCS #8, DER; empty once retired. */
  privateKey: Uint8Array
  /** What goes into `p=` of the DNS record (RFC 6376 §3.6.1), base64. */
  publicKey: string
  createdAt: number
  state: DkimKeyState
  stateSince: number
  /** When a retiring key is retired; null otherwise. */
  retireAt: number | null
}

/** A new state of a key. */
export type DkimKeyChange = Pick<DkimKey, 'id' | 'state' | 'retireAt'>

const toKey = (row: Selectable<DkimKeysTable>): DkimKey => ({
  id: row.id,
  teamId: row.team_id,
  domainId: row.domain_id,
  selector: row.selector,
  algorithm: row.algorithm,
  privateKey: row.private_key,
  publicKey: row.public_key,
  createdAt: row.created_at,
  state: row.state,
  stateSince: row.state_since ?? row.created_at,
  retireAt: row.retire_at,
})

/** Writes new keys; a part of the methods that make a domain or rotate its keys. */
export async function insertKeys(db: Db, keys: readonly DkimKey[]): Promise<void> {
  for (const key of keys)
    await db
      .insertInto('dkim_keys')
      .values({
        id: key.id,
        team_id: key.teamId,
        domain_id: key.domainId,
        selector: key.selector,
        algorithm: key.algorithm,
        private_key: key.privateKey,
        public_key: key.publicKey,
        created_at: key.createdAt,
        state: key.state,
        state_since: key.stateSince,
        retire_at: key.retireAt,
      })
      .execute()
}

/**
 * Adds the keys of a rotation in the place of pending ones. `rotating`: one waits for its record already, and nothing is
 * changed. `gone`: there is no such domain.
 */
async function addDkimKeys(
  db: Db,
  { teamId, domainId, keys }: { teamId: string; domainId: string; keys: DkimKey[] },
): Promise<'added' | 'rotating' | 'gone'> {
  const domain = await db
    .selectFrom('domains')
    .select('id')
    .where('id', '=', domainId)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  if (!domain) return 'gone'
  const pending = (await dkimKeys(db, { domainId })).filter(({ state }) => state === 'pending')
  // An Ed25519 key that nobody published is no rotation: it gives way.
  if (pending.some(({ algorithm }) => algorithm === 'rsa-sha256')) return 'rotating'
  for (const { id } of pending) await db.deleteFrom('dkim_keys').where('id', '=', id).execute()
  await insertKeys(db, keys)
  return 'added'
}

/**
 * All keys of a domain, oldest first.
 * Oldest first.
 */
async function dkimKeys(db: Db, args: { domainId: string }): Promise<DkimKey[]> {
  const rows = await db
    .selectFrom('dkim_keys')
    .selectAll()
    .where('domain_id', '=', args.domainId)
    .orderBy('id')
    .execute()
  return rows.map(toKey)
}

/**
 * The keys that sign for a domain now: never an Ed25519 key alone.
 * RSA first: few verifiers know Ed25519 (RFC 8463), and some stop at the first signature.
 */
async function signingKeys(db: Db, args: { domainId: string }): Promise<DkimKey[]> {
  const rows = await db
    .selectFrom('dkim_keys')
    .selectAll()
    .where('domain_id', '=', args.domainId)
    .where('state', '=', 'active')
    .orderBy('algorithm', 'desc')
    .orderBy('id')
    .execute()
  return rows[0]?.algorithm === 'rsa-sha256' ? rows.map(toKey) : []
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { dkimKeys, signingKeys },
  writes: { addDkimKeys },
}
