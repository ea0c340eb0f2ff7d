/** Second steps of the sign-in: authenticator apps, passkeys and recovery codes. */
import type { Selectable } from 'kysely'
import { type Identity, listIdentities } from './identities.ts'
import type { Db, PasskeysTable, TotpFactorsTable } from './schema.ts'
import { findSession } from './sessions.ts'
import { type FactorCounts, countFactors, hasSecondFactor } from './accounts.ts'

/** An authenticator app (RFC 6238). Each user has at most one. */
export interface TotpFactor {
  userId: string
  /** The shared secret. */
  secret: Uint8Array
  createdAt: number
  /**
   * When the user confirmed the app by entering a code; null until then. An unconfirmed app doesn't count as a second step.
   */
  confirmedAt: number | null
  lastUsedAt: number | null
  /** The time step of the newest code that was accepted. */
  lastStep: number
}

/** A WebAuthn key in a device or a password manager. */
export interface Passkey {
  id: string
  userId: string
  /** The credential ID in base64url, as in browsers. Unique on the server. */
  credentialId: string
  /** The host name that the browser bound the passkey to. It doesn't work on other hosts. */
  rpId: string
  name: string
  /** In COSE format. */
  publicKey: Uint8Array
  /** The signature counter; 0 if the device has none. */
  counter: number
  transports: string[]
  /** Whether the passkey is synced to an account instead of bound to one device. */
  synced: boolean
  /**
   * Whether the passkey alone is enough to sign in. False if it was added before the address was proved, because someone
   * else may have added it.
   */
  alone: boolean
  createdAt: number
  lastUsedAt: number | null
}

/**
 * Updates a user after a second step was removed. If none is left, deletes the recovery codes and resets `strong` in
 * all sessions. Sessions that a trusted provider vouches for keep their state.
 */
async function weaken(db: Db, userId: string): Promise<void> {
  if (await hasSecondFactor(db, { userId })) return
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await db.updateTable('sessions').set({ strong: 0 }).where('user_id', '=', userId).execute()
}

const toTotp = (row: Selectable<TotpFactorsTable>): TotpFactor => ({
  userId: row.user_id,
  secret: new Uint8Array(row.secret),
  createdAt: row.created_at,
  confirmedAt: row.confirmed_at,
  lastUsedAt: row.last_used_at,
  lastStep: row.last_step,
})

/**
 * Starts to set up an authenticator app. Replaces a secret that was never confirmed. Returns `exists` if an app is in use.
 */
async function startTotp(
  db: Db,
  { userId, secret }: { userId: string; secret: Uint8Array },
  now: number,
): Promise<'started' | 'exists'> {
  await db
    .deleteFrom('totp_factors')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .execute()
  const fresh = { confirmed_at: null, last_used_at: null, last_step: 0 }
  const inserted = await db
    .insertInto('totp_factors')
    .values({ user_id: userId, secret, created_at: now, ...fresh })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .executeTakeFirstOrThrow()
  return inserted.numInsertedOrUpdatedRows === 0n ? 'exists' : 'started'
}

async function findTotp(db: Db, { userId }: { userId: string }): Promise<TotpFactor | undefined> {
  const row = await db.selectFrom('totp_factors').selectAll().where('user_id', '=', userId).executeTakeFirst()
  return row && toTotp(row)
}

/**
 * Confirms an authenticator app, which counts as a second step from then on. Returns false if there is nothing to confirm,
 * so only one of several concurrent calls succeeds.
 * @param args startedAt: when the secret that the code was checked against was created; no other secret is confirmed
 */
async function confirmTotp(
  db: Db,
  { userId, startedAt, step }: { userId: string; startedAt: number; step: number },
  now: number,
): Promise<boolean> {
  const updated = await db
    .updateTable('totp_factors')
    .set({ confirmed_at: now, last_used_at: now, last_step: step })
    .where('user_id', '=', userId)
    .where('created_at', '=', startedAt)
    .where('confirmed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Marks the code of a time step as used. Returns false if this or a later code was already used. */
async function useTotp(
  db: Db,
  { userId, step }: { userId: string; step: number },
  now: number,
): Promise<boolean> {
  const updated = await db
    .updateTable('totp_factors')
    .set({ last_used_at: now, last_step: step })
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .where('last_step', '<', step)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Removes the authenticator app. Returns false if there is none. */
async function removeTotp(db: Db, { userId }: { userId: string }): Promise<boolean> {
  const removed = await db.deleteFrom('totp_factors').where('user_id', '=', userId).executeTakeFirstOrThrow()
  if (removed.numDeletedRows === 0n) return false
  await weaken(db, userId)
  return true
}

/**
 * Replaces all recovery codes of a user. Stores nothing and returns `no_factor` if there is no second step that the codes
 * could replace.
 * @param args keep: if there are unused codes, keep them and store nothing
 */
async function replaceRecoveryCodes(
  db: Db,
  { userId, hashes, keep = false }: { userId: string; hashes: string[]; keep?: boolean },
  now: number,
): Promise<'replaced' | 'kept' | 'no_factor'> {
  const { totp, passkeys, recoveryCodes } = await countFactors(db, { userId })
  if (!totp && passkeys === 0) return 'no_factor'
  if (keep && recoveryCodes > 0) return 'kept'
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await db
    .insertInto('recovery_codes')
    .values(hashes.map((hash) => ({ user_id: userId, code_hash: hash, created_at: now })))
    .execute()
  return 'replaced'
}

/**
 * Uses a recovery code, and deletes it. Returns false if it doesn't exist or was already used. Only one of several
 * concurrent calls succeeds.
 */
async function useRecoveryCode(db: Db, { userId, hash }: { userId: string; hash: string }): Promise<boolean> {
  const used = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('code_hash', '=', hash)
    .executeTakeFirstOrThrow()
  return used.numDeletedRows > 0n
}

/**
 * Removes all second steps and recovery codes and, with `unlink`, the linked identities. Ends the user's sessions and
 * tickets. Returns what was removed.
 */
async function resetFactors(
  db: Db,
  { userId, unlink }: { userId: string; unlink: boolean },
): Promise<FactorCounts & { identities: Identity[] }> {
  const had = await countFactors(db, { userId })
  const identities = await listIdentities(db, { userId })
  const tables = ['totp_factors', 'passkeys', 'recovery_codes', 'sessions', 'tickets'] as const
  for (const table of unlink ? ([...tables, 'identities'] as const) : tables)
    await db.deleteFrom(table).where('user_id', '=', userId).execute()
  return { ...had, identities }
}

const toPasskey = (row: Selectable<PasskeysTable>): Passkey => ({
  id: row.id,
  userId: row.user_id,
  credentialId: row.credential_id,
  rpId: row.rp_id,
  name: row.name,
  publicKey: new Uint8Array(row.public_key),
  counter: row.counter,
  transports: JSON.parse(row.transports) as string[],
  synced: row.synced === 1,
  alone: row.alone === 1,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})

/**
 * Adds a passkey. Returns `exists` if any user has the credential, `full` if the user already has `most` passkeys, and
 * `signed_out` if the session that adds it has ended.
 */
async function addPasskey(
  db: Db,
  { passkey, most, tokenHash }: { passkey: Passkey; most: number; tokenHash?: string },
  now: number,
): Promise<'added' | 'exists' | 'full' | 'signed_out'> {
  if (tokenHash !== undefined && (await findSession(db, { tokenHash }, now))?.user.id !== passkey.userId)
    return 'signed_out'
  const there = await listPasskeys(db, passkey)
  if (there.length >= most) return 'full'
  const inserted = await db
    .insertInto('passkeys')
    .values({
      id: passkey.id,
      user_id: passkey.userId,
      credential_id: passkey.credentialId,
      rp_id: passkey.rpId,
      name: passkey.name,
      public_key: passkey.publicKey,
      counter: passkey.counter,
      transports: JSON.stringify(passkey.transports),
      synced: passkey.synced ? 1 : 0,
      alone: passkey.alone ? 1 : 0,
      created_at: passkey.createdAt,
      last_used_at: passkey.lastUsedAt,
    })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirstOrThrow()
  return inserted.numInsertedOrUpdatedRows === 0n ? 'exists' : 'added'
}

/** Lists passkeys, oldest first. */
async function listPasskeys(db: Db, { userId }: { userId: string }): Promise<Passkey[]> {
  const rows = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows.map(toPasskey)
}

async function findPasskey(db: Db, { credentialId }: { credentialId: string }): Promise<Passkey | undefined> {
  const row = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
  return row && toPasskey(row)
}

/**
 * Records a signature. Returns false if its counter isn't larger than the stored one, because a copy of the key may be in
 * use (WebAuthn §6.1.1). Devices without a counter always report 0.
 */
async function usePasskey(
  db: Db,
  { credentialId, counter, synced }: { credentialId: string; counter: number; synced: boolean },
  now: number,
): Promise<boolean> {
  const counts = counter > 0
  const updated = await db
    .updateTable('passkeys')
    .set({ counter, synced: synced ? 1 : 0, last_used_at: now })
    .where('credential_id', '=', credentialId)
    .where('counter', counts ? '<' : '=', counter)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Renames a passkey. Returns undefined if the user has no such passkey. */
async function renamePasskey(
  db: Db,
  { userId, id, name }: { userId: string; id: string; name: string },
): Promise<Passkey | undefined> {
  const row = await db
    .updateTable('passkeys')
    .set({ name })
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && toPasskey(row)
}

/** Removes a passkey. `missing`: the user has no such passkey. `last`: it is the only way to sign in, so it stays. */
async function removePasskey(
  db: Db,
  { userId, id }: { userId: string; id: string },
): Promise<'removed' | 'last' | 'missing'> {
  const all = await listPasskeys(db, { userId })
  if (!all.some((passkey) => passkey.id === id)) return 'missing'
  if (all.length === 1 && !(await entersWithout(db, userId))) return 'last'
  await db.deleteFrom('passkeys').where('id', '=', id).execute()
  await weaken(db, userId)
  return 'removed'
}

/** Whether the user can sign in without a passkey. */
async function entersWithout(db: Db, userId: string): Promise<boolean> {
  const user = await db
    .selectFrom('users as u')
    .select('u.password_hash')
    .select((select) =>
      select
        .selectFrom('identities as i')
        .select('i.id')
        .whereRef('i.user_id', '=', 'u.id')
        .limit(1)
        .as('identity'),
    )
    .where('u.id', '=', userId)
    .executeTakeFirst()
  return user !== undefined && (user.password_hash !== '' || user.identity !== null)
}

export const methods = {
  reads: { findTotp, listPasskeys, findPasskey, countFactors, hasSecondFactor },
  writes: {
    startTotp,
    confirmTotp,
    useTotp,
    removeTotp,
    replaceRecoveryCodes,
    useRecoveryCode,
    addPasskey,
    usePasskey,
    renamePasskey,
    removePasskey,
    resetFactors,
  },
}
