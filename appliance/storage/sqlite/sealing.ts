/**
 * Operations on every stored secret at once: encrypt, re-encrypt with another key, count. The encryption itself is
 * implemented elsewhere.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  secretPlace,
  type Resealing,
  type Sealing,
  type SealingStorage,
  type SecretCount,
} from '../secrets.ts'
import { openReader, openWriter, type Connection } from './connection.ts'
import { DATABASE } from './directory.ts'

/** A column that contains secrets. */
interface Column {
  table: string
  /** The primary key. */
  key: string
  column: string
  type: 'text' | 'blob'
  /** SQL condition for rows that contain one. */
  where: string
  place: (key: string) => string
}

const COLUMNS: readonly Column[] = [
  {
    table: 'dkim_keys',
    key: 'id',
    column: 'private_key',
    type: 'blob',
    // The private half of a retired key is erased.
    where: 'length(private_key) > 0',
    place: secretPlace.dkimKey,
  },
  {
    table: 'webhooks',
    key: 'id',
    column: 'secret',
    type: 'text',
    where: 'true',
    place: secretPlace.webhook,
  },
  {
    table: 'webhooks',
    key: 'id',
    column: 'old_secret',
    type: 'text',
    where: 'old_secret is not null',
    place: secretPlace.webhook,
  },
  {
    table: 'totp_factors',
    key: 'user_id',
    column: 'secret',
    type: 'blob',
    where: 'true',
    place: secretPlace.totp,
  },
  {
    table: 'secrets',
    key: 'name',
    column: 'value',
    type: 'blob',
    // SQL uses this key to hash erased addresses.
    where: "name <> 'erasures'",
    place: secretPlace.named,
  },
]

/** Rows read at a time. A key has 1.7 KB. */
const STEP = 500

/** See `SealingStorage`. */
export const sqliteSealing: SealingStorage = {
  readSealing(dataDir) {
    const file = join(dataDir, DATABASE)
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined
    const db = openReader(file)
    try {
      return sealingOf(db)
    } finally {
      db.close()
    }
  },

  reseal(args, now) {
    const db = openWriter(join(args.dataDir, DATABASE))
    try {
      // Overwrites replaced values with zeros instead of only marking them as free.
      db.pragma('secure_delete = on')
      const done = db.transaction(() => resealAll(db, args, now)).immediate()
      if (done) db.pragma('wal_checkpoint(truncate)')
      return done
    } finally {
      db.close()
    }
  },

  cleanSecrets(dataDir, now) {
    const db = openWriter(join(dataDir, DATABASE))
    try {
      // Deleted or moved rows may still be in free pages, and in gaps of others. VACUUM rewrites all pages.
      db.exec('vacuum')
      db.prepare('update master_key set cleaned_at = ?').run(now)
      db.pragma('wal_checkpoint(truncate)')
    } finally {
      db.close()
    }
  },

  countSecrets(dataDir) {
    const file = join(dataDir, DATABASE)
    if (!existsSync(file)) return []
    const db = openReader(file)
    try {
      return COLUMNS.map((column) => count(db, column))
    } finally {
      db.close()
    }
  },
}

/** Returns the key that encrypts an open database; undefined if nothing is encrypted, or the schema is too old. */
export function sealingOf(db: Connection): Sealing | undefined {
  const known = db.prepare("select 1 from sqlite_schema where type = 'table' and name = 'master_key'").get()
  if (!known) return undefined
  return db
    .prepare<[], Sealing>(
      'select id as keyId, sealed_at as sealedAt, cleaned_at as cleanedAt from master_key',
    )
    .get()
}

function resealAll(db: Connection, { from, to, rewrite }: Resealing, now: number): boolean {
  if ((sealingOf(db)?.keyId ?? null) !== from) return false
  // Write this row first: from then on, the triggers refuse values encrypted with another key.
  db.prepare(
    `insert into master_key (only, id, sealed_at, cleaned_at) values (1, ?, ?, null)
     on conflict (only) do update set id = excluded.id, sealed_at = excluded.sealed_at, cleaned_at = null`,
  ).run(to, now)
  const changes = COLUMNS.filter(({ table }) => table !== 'webhooks').map((column) =>
    rewriteColumn(db, column, rewrite),
  )
  const rewritten = changes.reduce((sum, more) => sum + more, rewriteWebhooks(db, rewrite))
  // A database without secrets has nothing to wipe.
  if (rewritten === 0) db.prepare('update master_key set cleaned_at = ?').run(now)
  return true
}

function rewriteColumn(db: Connection, of: Column, rewrite: Resealing['rewrite']): number {
  const { table, key, column, where, place } = of
  const read = db.prepare<[string], { key: string; value: Buffer }>(
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
    Buffer.from(rewrite(Buffer.from(text), secretPlace.webhook(id))).toString()
  let sum = 0
  for (let rows = read.all(''); rows.length > 0; rows = read.all(rows.at(-1)!.id)) {
    for (const { id, secret, old } of rows)
      write.run(changed(secret, id), old === null ? null : changed(old, id), id)
    sum += rows.length
  }
  return sum
}

function count(db: Connection, { table, column, type, where }: Column): SecretCount {
  const mark = type === 'text' ? "'sealed:1:'" : "cast('sealed:1:' as blob)"
  const { sealed, plain } = db
    .prepare<[], { sealed: number; plain: number }>(
      `select count(*) filter (where substr(${column}, 1, 9) = ${mark}) as sealed,
         count(*) filter (where substr(${column}, 1, 9) <> ${mark}) as plain from ${table} where ${where}`,
    )
    .get()!
  return { kind: `${table}.${column}`, sealed, plain }
}
