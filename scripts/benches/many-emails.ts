/** Generates a database with any number of emails of one team, as the appliance would have written it. */
import Database from 'better-sqlite3'
import { firstIdAt } from '../../appliance/mail/ids.ts'
import { applyMigrations, shippedMigrations } from '../../appliance/storage/sqlite/migrate.ts'

/** When the first email was accepted (Unix milliseconds). */
export const FIRST_EMAIL_TIME = Date.UTC(2026, 0, 1)
/** Time between two emails in milliseconds: one million in three weeks. */
export const EMAIL_INTERVAL = 1800
/** The team that owns the emails. */
export const TEAM_ID = '019b76da-a800-7000-8000-00000000000a'

/** Returns an email's ID, which sorts by its number. */
export const toEmailId = (i: number): string =>
  `${firstIdAt(FIRST_EMAIL_TIME + i * EMAIL_INTERVAL).slice(0, 24)}${String(i).padStart(12, '0')}`

/** Returns an email's status: one in 200 bounced, one in 20,000 complained. */
function statusOf(i: number): string {
  if (i % 20_000 === 7) return 'complained'
  if (i % 200 === 3) return 'bounced'
  return i % 3 === 0 ? 'opened' : 'delivered'
}

const cause = (i: number): string =>
  JSON.stringify({
    phase: 'body',
    host: `mx${i % 7}.reader${i % 5000}.example`,
    ip: '192.0.2.7',
    reply: { code: 250, enhanced: '2.0.0', text: `Ok: queued as ${(i * 7919).toString(36).toUpperCase()}` },
    note: 'The mail server took the message.',
  })

/** Amount of data to generate. */
export interface EmailVolume {
  emails: number
  /** Number of bytes per message. */
  body: number
}

/** Returns a function that writes an email with its message and recipient. */
function writerOf(db: Database.Database, bytes: number): (i: number) => void {
  const email = db.prepare(`
    insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header, reply_to,
      subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at, sent_at, created_at)
    values (?, ?, 'd', ?, 'rest', ?, ?, '[]', '[]', '[]', ?, '[]', ?, '[]', ?, ?, ?, ?, null, ?, ?)`)
  const message = db.prepare(
    "insert into messages (email_id, team_id, content, body) values (?, ?, 'message', ?)",
  )
  const recipient = db.prepare(`
    insert into deliveries (id, team_id, email_id, recipient, field, pool, provider, state, attempts, cause, created_at,
      updated_at) values (?, ?, ?, ?, 'to', 'default', 'reader', ?, 1, ?, ?, ?)`)
  const body = Buffer.alloc(bytes, 'x')
  return (i) => {
    const [id, at] = [toEmailId(i), FIRST_EMAIL_TIME + i * EMAIL_INTERVAL]
    const to = `person${(i * 31) % 400_000}@reader${i % 5000}.example`
    const status = statusOf(i)
    const words = `Order ${i} from shop ${i % 40}${i % 50_000 === 11 ? ' walrus' : ''}`
    const tags = JSON.stringify([{ name: 'kind', value: i % 100 === 0 ? 'invoice' : 'receipt' }])
    email.run(
      id,
      TEAM_ID,
      `key-${i % 5}`,
      `Shop <shop@s${i % 20}.acme.example>`,
      JSON.stringify([to]),
      words,
      tags,
      `<${id}@acme.example>`,
      `b-${id}@send.acme.example`,
      bytes,
      status,
      at,
      at,
    )
    message.run(id, TEAM_ID, body)
    recipient.run(id, TEAM_ID, id, to, status === 'bounced' ? 'bounced' : 'delivered', cause(i), at, at)
  }
}

/**
 * Writes the database: emails, messages and recipients.
 * @param path path of a file that doesn't exist yet
 */
export function generateEmails(path: string, { emails, body }: EmailVolume): void {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = OFF')
  applyMigrations(db, shippedMigrations())
  db.prepare('insert into teams (id, name, created_at) values (?, ?, 0)').run(TEAM_ID, 'Bench')
  const put = writerOf(db, body)
  for (let i = 0; i < emails; i += 10_000)
    db.transaction(() => {
      for (let n = i; n < Math.min(emails, i + 10_000); n++) put(n)
    })()
  db.exec('analyze')
  db.close()
}
