/** Fills a segment with any number of contacts, as an import would have. */
import Database from 'better-sqlite3'
import { firstIdAt } from '../../appliance/mail/ids.ts'

/** Number of contacts to write, and the domains of their addresses. */
export interface ContactVolume {
  contacts: number
  /** Domains of the addresses, used in rotation. */
  domains: readonly string[]
  /** Index of the segment, if one database has several. */
  part?: number
}

/** When the first contact joined (Unix milliseconds). The contacts joined at intervals of one millisecond. */
const START = Date.UTC(2026, 0, 1)
const SEGMENT = '019b76da-a800-7000-8000-00000000000b'

/** Fills the segment. Returns its ID. */
export function fillSegment(path: string, { contacts, domains, part = 0 }: ContactVolume): string {
  const segment = `${SEGMENT.slice(0, -1)}${part}`
  const db = new Database(path)
  db.pragma('synchronous = off')
  const teamId = db.prepare('select id from teams').pluck().get() as string
  db.prepare(
    'insert into segments (id, team_id, name, filter, created_at, updated_at) values (?, ?, ?, null, ?, ?)',
  ).run(segment, teamId, `Readers ${part}`, START, START)
  const contact = db.prepare(`
    insert into contacts (id, team_id, email, address_key, first_name, last_name, properties, unsubscribed_at, unsubscribed_by,
      created_by, created_from, created_at, updated_at)
    values (?, ?, ?, ?, ?, 'Lovelace', '{}', null, null, 'import', null, ?, ?)`)
  const member = db.prepare(
    'insert into contact_segments (segment_id, contact_id, team_id, added_at) values (?, ?, ?, ?)',
  )
  const insert = (i: number): void => {
    const at = START + i
    const id = `${firstIdAt(at).slice(0, 24)}${`${part}${String(i).padStart(11, '0')}`}`
    const email = `reader${part}x${i}@${domains[i % domains.length]!}`
    contact.run(id, teamId, email, email, `Ada${i}`, at, at)
    member.run(segment, id, teamId, at)
  }
  for (let from = 0; from < contacts; from += 10_000)
    db.transaction(() => {
      for (let i = from; i < Math.min(contacts, from + 10_000); i++) insert(i)
    })()
  db.pragma('wal_checkpoint(truncate)')
  db.close()
  return segment
}
