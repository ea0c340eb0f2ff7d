/** What only SQLite can tell of its file, and do with it. */
import { sql, type Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { DiskUse } from '../storage.ts'
import type { Connection } from './connection.ts'

/** `Storage.diskUse`. */
export async function diskUse(db: Kysely<Tables>): Promise<DiskUse> {
  const pages = await sql<{ used: number; free: number }>`
    select (page_count - freelist_count) * page_size as used, freelist_count * page_size as free
    from pragma_page_count, pragma_freelist_count, pragma_page_size
  `.execute(db)
  const { bytes } = await db
    .selectFrom('messages as m')
    .innerJoin('emails as e', 'e.id', 'm.email_id')
    .select(sql<number | null>`sum(e.size)`.as('bytes'))
    .where('m.body', 'is', null)
    .executeTakeFirstOrThrow()
  const [{ used, free }] = pages.rows as [{ used: number; free: number }]
  return { database: used, free, files: bytes ?? 0 }
}

/** `Storage.shrink`. Nothing happens in a database that was made without `auto_vacuum`. */
export function createShrink(db: Connection): (args: { pages: number }) => number {
  const free = db.prepare<[], number>('pragma freelist_count').pluck()
  return ({ pages }) => {
    const before = free.get() ?? 0
    db.pragma(`incremental_vacuum(${Math.trunc(pages)})`)
    return before - (free.get() ?? 0)
  }
}
