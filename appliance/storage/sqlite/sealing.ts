/** Operations on all secrets of a SQLite database. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { countSecrets, resealAll, getSealing } from '../sealing.ts'
import type { SealingStorage } from '../secrets.ts'
import { refuseMovedDatabase } from '../move/marker.ts'
import { openReader, openWriter } from './connection.ts'
import { DATABASE_FILE } from './directory.ts'

/** See `SealingStorage`. */
export const sqliteSealing: SealingStorage = {
  readSealing(dataDir) {
    const file = join(dataDir, DATABASE_FILE)
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined
    const db = openReader(file)
    try {
      return getSealing(db)
    } finally {
      db.close()
    }
  },

  reseal(args, now) {
    refuseMovedDatabase(args.dataDir)
    const db = openWriter(join(args.dataDir, DATABASE_FILE))
    try {
      // Overwrite replaced values with zeros instead of only marking them as free.
      db.pragma('secure_delete = on')
      const done = db.transaction(() => resealAll(db, args, now)).immediate()
      if (done) db.pragma('wal_checkpoint(truncate)')
      return done
    } finally {
      db.close()
    }
  },

  cleanSecrets(dataDir, now) {
    const db = openWriter(join(dataDir, DATABASE_FILE))
    try {
      // Deleted or moved rows may still be in free pages, and in gaps of other pages. VACUUM rewrites all pages.
      db.exec('vacuum')
      db.prepare('update master_key set cleaned_at = ?').run(now)
      db.pragma('wal_checkpoint(truncate)')
    } finally {
      db.close()
    }
  },

  countSecrets(dataDir) {
    const file = join(dataDir, DATABASE_FILE)
    if (!existsSync(file)) return []
    const db = openReader(file)
    try {
      return countSecrets(db)
    } finally {
      db.close()
    }
  },
}
