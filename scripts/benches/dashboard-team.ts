/**
 * Adds to the team of `many-emails.ts` the data besides emails that the dashboard needs: a user, domains, and half a
 * year of roll-ups.
 */
import Database from 'better-sqlite3'
import { firstIdAt, newId } from '../../appliance/mail/ids.ts'
import { QUARTER_HOUR_MS, startOfQuarterHour } from '../../appliance/storage/metrics/counters.ts'
import { FIRST_EMAIL_TIME, TEAM_ID } from './many-emails.ts'

/** The user who signs in. The sandbox treats an owner with this name as its own, and sets a password. */
const OWNER = 'you@example.test'
const DOMAINS = 200
const DAY = 86_400_000
/** Maximum number of days on the metrics page. The same number of days before them is used for comparison. */
const DAYS = 90
/** Providers of four fifths of the recipients. The other recipients are spread over `SMALL` small providers. */
const LARGE = ['gmail', 'microsoft', 'yahoo', 'icloud', 'gmx', 'webde', 'orange', 'comcast']
const SMALL = 3000

const domainId = (i: number): string =>
  `${firstIdAt(FIRST_EMAIL_TIME).slice(0, 24)}${String(i).padStart(12, '0')}`

/** Returns a generator of numbers from 0 to 1 that are the same in every run (Park–Miller). */
function numbers(): () => number {
  let state = 1
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

/** Returns the counters that one email increments, each with its provider. */
function countersOf(next: () => number): [counter: string, provider: string][] {
  const large = LARGE[Math.floor(next() * LARGE.length)]!
  const provider = next() < 0.8 ? large : `?mail${Math.floor(next() * SMALL)}.example`
  const chance = (part: number, ...counters: string[]): [string, string][] =>
    next() < part ? counters.map((counter) => [counter, '']) : []
  const bounced = next() < 0.02
  return [
    ['sent', ''],
    ...(bounced
      ? ([
          ['bounced_permanent', provider],
          ['bounced_about_recipient', provider],
        ] as [string, string][])
      : [['delivered', provider] as [string, string]]),
    ...(next() < 0.03 ? [['delivery_delayed', provider] as [string, string]] : []),
    ...chance(0.3, 'opened', 'unique_opened'),
    ...chance(0.1, 'opened_by_robots'),
    ...chance(0.05, 'clicked', 'unique_clicked'),
  ]
}

/** Adds the roll-ups of `emails` emails in 90 days, and of as many in the 90 days before. */
function addRollUps(db: Database.Database, emails: number, now: number): void {
  const insert = db.prepare(
    'insert or replace into metrics (team_id, at, domain_id, counter, provider, n) values (?, ?, ?, ?, ?, ?)',
  )
  const next = numbers()
  const each = (emails * QUARTER_HOUR_MS) / (DAYS * DAY)
  const last = startOfQuarterHour(now)
  let owed = 0
  db.transaction(() => {
    for (let at = last - 2 * DAYS * DAY; at <= last; at += QUARTER_HOUR_MS) {
      const sums = new Map<string, number>()
      for (owed += each; owed >= 1; owed--) {
        const domain = domainId(Math.floor(next() * DOMAINS))
        for (const [counter, provider] of countersOf(next)) {
          const key = `${domain} ${counter} ${provider}`
          sums.set(key, (sums.get(key) ?? 0) + 1)
        }
      }
      for (const key of [...sums.keys()].sort()) insert.run(TEAM_ID, at, ...key.split(' '), sums.get(key))
    }
  })()
}

function addPeople(db: Database.Database, now: number): void {
  const id = newId(now)
  db.prepare(
    `insert into users (id, email, email_key, password_hash, created_at) values (?, ?, ?, '', ?)`,
  ).run(id, OWNER, OWNER, now)
  db.prepare(`insert into members (team_id, user_id, role, created_at) values (?, ?, 'owner', ?)`).run(
    TEAM_ID,
    id,
    now,
  )
}

function addDomains(db: Database.Database): void {
  const insert = db.prepare(
    `insert into domains (id, team_id, name, status, region, return_path, checks, created_at)
     values (?, ?, ?, 'verified', '', 'send', '[]', ?)`,
  )
  for (let i = 0; i < DOMAINS; i++) insert.run(domainId(i), TEAM_ID, `s${i}.acme.example`, FIRST_EMAIL_TIME)
}

/**
 * Adds the data unless it exists.
 * @param emails number of emails in the roll-ups of 90 days
 * @param now end of the roll-ups (Unix milliseconds)
 */
export function addTeamData(path: string, emails: number, now: number): void {
  const db = new Database(path)
  db.pragma('synchronous = OFF')
  const known = db.prepare('select 1 from users where email_key = ?').get(OWNER)
  if (known === undefined) {
    addPeople(db, now)
    addDomains(db)
    addRollUps(db, emails, now)
    db.exec('analyze')
  }
  db.close()
}
