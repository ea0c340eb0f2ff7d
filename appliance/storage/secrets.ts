/** Where secrets are stored, and which master key seals them (secrets/secrets.ts); keys that the appliance made for itself. */
import type { Db } from './schema.ts'

/** The secret of this name; `fresh` becomes it where there is none yet. All nodes of one storage get the same. */
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

/** Keys that the appliance made for itself. */
export const methods = {
  writes: { secret },
}

/** Which key everything is sealed with. */
export interface Sealing {
  keyId: string
  /** Unix milliseconds. */
  sealedAt: number
  /** When earlier forms of the secrets were wiped from the free space of the database; null: not yet. */
  cleanedAt: number | null
}

/** A step from one master key to another. */
export interface Resealing {
  dataDir: string
  /** What the database must be sealed with; null: nothing is sealed yet. */
  from: string | null
  to: string
  /** Returns what is stored in the place of a value. */
  rewrite: (value: Uint8Array, place: string) => Uint8Array
}

/** How many stored secrets there are of a kind. */
export interface SecretCount {
  /** Table and column. */
  kind: string
  sealed: number
  plain: number
}

/** What the engine does with all secrets at once, outside the port: before a daemon serves, or while none runs. */
export interface SealingStorage {
  /** Undefined while nothing is sealed, and where there is no database. */
  readSealing(dataDir: string): Sealing | undefined
  /** Rewrites every secret in one transaction. False, and nothing is changed, when the database is not sealed with `from`. */
  reseal(args: Resealing, now: number): boolean
  /** Wipes earlier forms of the secrets from the free space of the file and from its log. Takes as much disk as the database, and a while. */
  cleanSecrets(dataDir: string, now: number): void
  countSecrets(dataDir: string): SecretCount[]
}

/** Names of places that hold a secret. A sealed value opens at its own place only: it cannot be moved to another row. */
export const secretPlace = {
  dkimKey: (id: string): string => `dkim_keys.private_key:${id}`,
  /** Of the present secret and of the one before it: a rotation moves one to the other inside SQL. */
  webhook: (id: string): string => `webhooks.secret:${id}`,
  totp: (userId: string): string => `totp_factors.secret:${userId}`,
  named: (name: string): string => `secrets.value:${name}`,
}
