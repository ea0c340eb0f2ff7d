/**
 * Operations on every stored secret at once, for both engines: encrypt, re-encrypt with another key, count. The
 * encryption itself is implemented elsewhere.
 */
import { type Connection, isPostgres } from './connection.ts'
import { secretLocations, type Resealing, type Sealing, type SecretCount } from './secrets.ts'

/** A column that contains secrets. */
interface Column {
  table: string
  /** The primary key. */
  key: string
  column: string
  type: 'text' | 'blob'
  /** SQL condition for rows that contain a secret. */
  where: string
  place: (key: string) => string
}

const COLUMNS: readonly Column[] = [
  {
    table: 'dkim_keys',
    key: 'id',
    column: 'private_key',
    type: 'blob',
    // The private key of a retired key pair is erased.
    where: 'length(private_key) > 0',
    place: secretLocations.dkimKey,
  },
  {
    table: 'webhooks',
    key: 'id',
    column: 'secret',
    type: 'text',
    where: 'true',
    place: secretLocations.webhook,
  },
  {
    table: 'webhooks',
    key: 'id',
    column: 'old_secret',
    type: 'text',
    where: 'old_secret is not null',
    place: secretLocations.webhook,
  },
  {
    table: 'totp_factors',
    key: 'user_id',
    column: 'secret',
    type: 'blob',
    where: 'true',
    place: secretLocations.totp,
  },
  {
    table: 'secrets',
    key: 'name',
    column: 'value',
    type: 'blob',
    // SQL uses this secret to hash erased addresses.
    where: "name <> 'erasures'",
    place: secretLocations.named,
  },
]

/** The tables with secrets. */
export const SECRET_TABLES: readonly string[] = [...new Set(COLUMNS.map(({ table }) => table))]

/** Number of rows read at a time. A key has 1.7 KB. */
const STEP = 500

/** Returns the key that encrypts an open database; undefined if nothing is encrypted, or the schema is too old. */
export function getSealing(db: Connection): Sealing | undefined {
  const table = isPostgres(db)
    ? "select 1 from pg_tables where schemaname = current_schema() and tablename = 'master_key'"
    : "select 1 from sqlite_schema where type = 'table' and name = 'master_key'"
  if (!db.prepare(table).get()) return undefined
  return db
    .prepare<[], Sealing>(
      'select id as "keyId", sealed_at as "sealedAt", cleaned_at as "cleanedAt" from master_key',
    )
    .get()
}

/**
 * Rewrites every secret within the caller's transaction. Returns false and changes nothing if the database isn't encrypted
 * with `from`.
 */
export function resealAll(db: Connection, { from, to, rewrite }: Resealing, now: number): boolean {
  if ((getSealing(db)?.keyId ?? null) !== from) return false
  // Write this row first: from then on, the triggers refuse values encrypted with another key.
  db.prepare(
    `insert into master_key ("only", id, sealed_at, cleaned_at) values (1, ?, ?, null)
     on conflict ("only") do update set id = excluded.id, sealed_at = excluded.sealed_at, cleaned_at = null`,
  ).run(to, now)
  const changes = COLUMNS.filter(({ table }) => table !== 'webhooks').map((column) =>
    rewriteColumn(db, column, rewrite),
  )
  const rewritten = changes.reduce((sum, more) => sum + more, rewriteWebhooks(db, rewrite))
  // If no secret was rewritten, there is nothing to wipe.
  if (rewritten === 0) db.prepare('update master_key set cleaned_at = ?').run(now)
  return true
}

function rewriteColumn(db: Connection, of: Column, rewrite: Resealing['rewrite']): number {
  const { table, key, column, where, place } = of
  const read = db.prepare<[string], { key: string; value: Uint8Array }>(
    `select ${key} as key, ${column} as value from ${table} where ${where} and ${key} > ? order by ${key} limit ${STEP}`,
  )
  const write = db.prepare(`update ${table} set ${column} = ? where ${key} = ?`)
  let sum = 0
  for (let rows = read.all(''); rows.length > 0; rows = read.all(rows.at(-1)!.key)) {
    for (const row of rows) write.run(rewrite(row.value, place(row.key)), row.key)
    sum += rows.length
  }
  return sum
}

/** Rewrites both secrets of a webhook in one update, because the trigger checks both. */
function rewriteWebhooks(db: Connection, rewrite: Resealing['rewrite']): number {
  const read = db.prepare<[string], { id: string; secret: string; old: string | null }>(
    `select id, secret, old_secret as old from webhooks where id > ? order by id limit ${STEP}`,
  )
  const write = db.prepare('update webhooks set secret = ?, old_secret = ? where id = ?')
  const changed = (text: string, id: string): string =>
    Buffer.from(rewrite(Buffer.from(text), secretLocations.webhook(id))).toString()
  let sum = 0
  for (let rows = read.all(''); rows.length > 0; rows = read.all(rows.at(-1)!.id)) {
    for (const { id, secret, old } of rows)
      write.run(changed(secret, id), old === null ? null : changed(old, id), id)
    sum += rows.length
  }
  return sum
}

/** Counts the secrets of each kind. */
export const countSecrets = (db: Connection): SecretCount[] => COLUMNS.map((column) => count(db, column))

function count(db: Connection, { table, column, type, where }: Column): SecretCount {
  const bytes = isPostgres(db) ? "convert_to('sealed:1:', 'UTF8')" : "cast('sealed:1:' as blob)"
  const mark = type === 'text' ? "'sealed:1:'" : bytes
  const { sealed, plain } = db
    .prepare<[], { sealed: number; plain: number }>(
      `select count(*) filter (where substr(${column}, 1, 9) = ${mark}) as sealed,
         count(*) filter (where substr(${column}, 1, 9) <> ${mark}) as plain from ${table} where ${where}`,
    )
    .get()!
  return { kind: `${table}.${column}`, sealed, plain }
}
