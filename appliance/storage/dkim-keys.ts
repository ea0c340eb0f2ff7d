/** DKIM keys of sending domains. senders/rotation.ts decides their states. */
import type { Selectable } from 'kysely'
import type { Db, DkimKeysTable } from './schema.ts'
import type { DkimAlgorithm, DkimKeyState } from './values.ts'

export interface DkimKey {
  id: string
  teamId: string
  domainId: string
  selector: string
  algorithm: DkimAlgorithm
  /** PKCS #8 in DER; empty once retired. */
  privateKey: Uint8Array
  /** The value of `p=` in the DNS record (RFC 6376 §3.6.1), base64. */
  publicKey: string
  createdAt: number
  state: DkimKeyState
  stateSince: number
  /** When a retiring key will be retired; null for other keys. */
  retireAt: number | null
}

/** A state change of a key. */
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

/**
 * Inserts keys. Used by the methods that create a domain or rotate its keys. A selector can be used again once its last
 * key is retired.
 */
export async function insertKeys(db: Db, keys: readonly DkimKey[]): Promise<void> {
  for (const key of keys) {
    await db
      .deleteFrom('dkim_keys')
      .where('domain_id', '=', key.domainId)
      .where('selector', '=', key.selector)
      .where('state', '=', 'retired')
      .execute()
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
}

/**
 * Adds the keys of a rotation. Replaces pending keys. `rotating`: a pending key already waits for its record, so
 * nothing changes. `gone`: the domain doesn't exist.
 *
 * With `restart`, a key that waits for its record is replaced, too. If the domain was never verified, no mail was
 * signed, so all keys are replaced, and the RSA key signs from the start.
 */
async function addDkimKeys(
  db: Db,
  {
    teamId,
    domainId,
    keys,
    restart = false,
  }: { teamId: string; domainId: string; keys: DkimKey[]; restart?: boolean | undefined },
): Promise<'added' | 'rotating' | 'gone'> {
  const domain = await db
    .selectFrom('domains')
    .select('status')
    .where('id', '=', domainId)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  if (!domain) return 'gone'
  if (restart && domain.status === 'not_started') {
    await db.deleteFrom('dkim_keys').where('domain_id', '=', domainId).execute()
    await insertKeys(db, keys.map(startOf))
    return 'added'
  }
  const pending = (await dkimKeys(db, { domainId })).filter(({ state }) => state === 'pending')
  // A pending Ed25519 key alone is not a rotation, so it can be replaced.
  if (!restart && pending.some(({ algorithm }) => algorithm === 'rsa-sha256')) return 'rotating'
  for (const { id } of pending) await db.deleteFrom('dkim_keys').where('id', '=', id).execute()
  await insertKeys(db, keys)
  return 'added'
}

/** Makes an RSA key active, so that it signs from the start. */
const startOf = (key: DkimKey): DkimKey =>
  key.algorithm === 'rsa-sha256' ? { ...key, state: 'active' } : key

/** Lists all keys of a domain, oldest first. */
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
 * Returns the keys that sign for a domain now, never an Ed25519 key alone. RSA comes first: few verifiers support
 * Ed25519 (RFC 8463), and some stop at the first signature.
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

export const methods = {
  reads: { dkimKeys, signingKeys },
  writes: { addDkimKeys },
}
