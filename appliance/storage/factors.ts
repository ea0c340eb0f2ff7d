/** Second factors: what somebody has, beside the password that somebody knows. */
import type { Selectable } from 'kysely'
import { type Identity, listIdentities } from './identities.ts'
import type { Db, PasskeysTable, TotpFactorsTable } from './schema.ts'
import { findSession } from './sessions.ts'
import { type FactorCounts, countFactors, hasSecondFactor } from './accounts.ts'

/** An app that shows codes (RFC 6238). One for each person. */
export interface TotpFactor {
  userId: string
  /** The shared secret. */
  secret: Uint8Array
  createdAt: number
  /** Null until a first code came back: till then it opens nothing. */
  confirmedAt: number | null
  lastUsedAt: number | null
  /** The time step of the newest code that was taken. */
  lastStep: number
}

/** A key in a device or a password manager (WebAuthn). */
export interface Passkey {
  id: string
  userId: string
  /** In base64url, as browsers name it. Unique in the appliance. */
  credentialId: string
  /** The host name that the browser bound it to: it works under no other. */
  rpId: string
  name: string
  /** COSE. */
  publicKey: Uint8Array
  /** Of signatures made; 0 where the device does not count. */
  counter: number
  transports: string[]
  /** Whether it is kept in an account and not only in one device. */
  synced: boolean
  /** Whether it may be a whole sign-in. Not where it is older than the proof of the address: somebody else may have added it. */
  alone: boolean
  createdAt: number
  lastUsedAt: number | null
}

/**
 * After a factor is gone: where none is left, the recovery codes go too, and the sessions that it made strong are so no
 * more, whatever they began with. What a provider vouches for stays.
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

/** A new secret, in the place of one that was never confirmed; `exists` where one is in use. */
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
 * From here on it counts. False when there is nothing to confirm: of several calls exactly one confirms.
 * @param args startedAt: when the secret was made that the code was compared with; another one is not confirmed
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

/** Takes the code of a time step; false when it, or a later one, was taken before. */
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

/** False when there is none. */
async function removeTotp(db: Db, { userId }: { userId: string }): Promise<boolean> {
  const removed = await db.deleteFrom('totp_factors').where('user_id', '=', userId).executeTakeFirstOrThrow()
  if (removed.numDeletedRows === 0n) return false
  await weaken(db, userId)
  return true
}

/**
 * All older ones are void. `no_factor`: there is no second factor that they could stand in for, and nothing is stored.
 * @param args keep: unused ones stay, and nothing is stored
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

/** False when there is none such, or it was used: of several callers exactly one uses it. */
async function useRecoveryCode(db: Db, { userId, hash }: { userId: string; hash: string }): Promise<boolean> {
  const used = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('code_hash', '=', hash)
    .executeTakeFirstOrThrow()
  return used.numDeletedRows > 0n
}

/**
 * Takes all factors and recovery codes away, with `unlink` the identities at providers too, and ends the user's sessions and tickets;
 * returns what there was.
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
 * `exists` when the credential is there already, whosever it is; `full` when the user has `most`; `signed_out` when the session that adds it has ended.
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

/** The oldest first. */
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
 * Notes a signature. False when its counter is not beyond the stored one (WebAuthn §6.1.1: a copy may be in use); devices
 * that do not count say 0 always.
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

/** Undefined where it is not the user's. */
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

/**
 * `missing`: it is not the user's. `last`: there is no password, no other passkey and no identity to enter by; it stays.
 */
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

/** Whether there is a way in without any passkey. */
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

/**
 * Recovery codes alone are no second factor: they go with the last other one, and its sessions are strong no more.
 */
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
