/**
 * Where secrets are stored, and which master key encrypts them (secrets/secrets.ts). Also the keys that the server
 * generates for itself.
 */
import type { Db } from './schema.ts'

/**
 * Returns the secret with this name. If there is none yet, stores `fresh`. All nodes that share a storage get the same
 * secret.
 */
async function secret(db: Db, args: { name: string; fresh: Uint8Array }, now: number): Promise<Uint8Array> {
  await db
    .insertInto('secrets')
    .values({ name: args.name, value: args.fresh, created_at: now })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const row = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', args.name)
    .executeTakeFirstOrThrow()
  return new Uint8Array(row.value)
}

/** Returns the secret with this name; undefined if there is none. */
async function findSecret(db: Db, { name }: { name: string }): Promise<Uint8Array | undefined> {
  const row = await db.selectFrom('secrets').select('value').where('name', '=', name).executeTakeFirst()
  return row && new Uint8Array(row.value)
}

/** Lists the secrets whose names begin with the folder and a slash. */
async function listSecrets(
  db: Db,
  { folder }: { folder: string },
): Promise<{ name: string; value: Uint8Array }[]> {
  const rows = await db
    .selectFrom('secrets')
    .select(['name', 'value'])
    .where('name', '>', `${folder}/`)
    // The character after the slash.
    .where('name', '<', `${folder}0`)
    .orderBy('name')
    .execute()
  return rows.map(({ name, value }) => ({ name, value: new Uint8Array(value) }))
}

/** Stores a secret, and replaces one with the same name. */
async function replaceSecret(
  db: Db,
  { name, value }: { name: string; value: Uint8Array },
  now: number,
): Promise<void> {
  await db
    .insertInto('secrets')
    .values({ name, value, created_at: now })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value, created_at: now }))
    .execute()
}

async function removeSecret(db: Db, { name }: { name: string }): Promise<void> {
  await db.deleteFrom('secrets').where('name', '=', name).execute()
}

export const methods = {
  reads: { findSecret, listSecrets },
  writes: { secret, replaceSecret, removeSecret },
}

/** The master key that encrypts all secrets, and when it was applied. */
export interface Sealing {
  keyId: string
  /** Unix milliseconds. */
  sealedAt: number
  /** When older forms of the secrets were wiped from the free space of the database; null if that hasn't happened yet. */
  cleanedAt: number | null
}

/** A change from one master key to another. */
export interface Resealing {
  dataDir: string
  /** ID of the master key that the database must currently use; null if nothing is encrypted yet. */
  from: string | null
  to: string
  /** Returns the new stored form of a value. */
  rewrite: (value: Uint8Array, place: string) => Uint8Array
}

/** The number of stored secrets of one kind. */
export interface SecretCount {
  /** Table and column of the secrets. */
  kind: string
  sealed: number
  plain: number
}

/**
 * Operations on all secrets at once. Not part of `Storage`, because they run before a daemon serves or while none runs.
 */
export interface SealingStorage {
  /** Returns the current master key; undefined if nothing is encrypted yet, or if there is no database. */
  readSealing(dataDir: string): Sealing | undefined
  /**
   * Rewrites every secret in one transaction. Returns false and changes nothing if the database isn't encrypted with
   * `from`.
   */
  reseal(args: Resealing, now: number): boolean
  /**
   * Wipes older forms of the secrets from the free space of the database file and from its log. Needs as much free disk
   * space as the size of the database, and takes a while.
   */
  cleanSecrets(dataDir: string, now: number): void
  countSecrets(dataDir: string): SecretCount[]
}

/**
 * Names of the places where secrets are stored. An encrypted value can be decrypted only in its own place, so it can't be
 * moved to another row.
 */
export const secretLocations = {
  dkimKey: (id: string): string => `dkim_keys.private_key:${id}`,
  /** The same place for the current and the previous secret, because a rotation moves the value in SQL. */
  webhook: (id: string): string => `webhooks.secret:${id}`,
  totp: (userId: string): string => `totp_factors.secret:${userId}`,
  named: (name: string): string => `secrets.value:${name}`,
}
