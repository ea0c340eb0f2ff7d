/**
 * Measures how long lists, filters and searches of emails take, and how long one chunk blocks the reader thread.
 * Asserts nothing.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import type { EmailFilter, Storage } from '../../appliance/storage/storage.ts'
import { generateEmails, toEmailId, FIRST_EMAIL_TIME, EMAIL_INTERVAL, TEAM_ID } from './many-emails.ts'
import { quantile } from './measured.ts'

const { values } = parseArgs({
  options: {
    emails: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '20' },
    /** Folder in which the generated data is kept, and existing data is reused. */
    data: { type: 'string' },
  },
})
const EMAILS = Number(values.emails)
const ROUNDS = Number(values.rounds)
/** Reads until a page is full or everything was searched. Makes a separate call for each chunk. */
async function page(storage: Storage, filter: EmailFilter, after?: string) {
  const steps: number[] = []
  let found = 0
  let next: string | null | undefined = after
  do {
    const began = performance.now()
    const part = await storage.searchEmails(
      { teamId: TEAM_ID, filter, limit: 50 - found, after: next },
      FIRST_EMAIL_TIME,
    )
    steps.push(performance.now() - began)
    found += part.items.length
    next = part.next ?? undefined
  } while (next !== undefined && found < 50)
  return { found, steps }
}

const last = EMAILS - 1
const middle = toEmailId(Math.floor(EMAILS / 2))
const QUESTIONS: [name: string, filter: EmailFilter, after?: string][] = [
  ['the newest 50', {}],
  ['50 in the middle', {}, middle],
  ['before a day in the middle', { until: FIRST_EMAIL_TIME + (EMAILS / 2) * EMAIL_INTERVAL }],
  ['status:bounced (one in 200)', { status: ['bounced'] }],
  ['status:complained (one in 20 000)', { status: ['complained'] }],
  ['domain: (one in 20)', { domain: 's3.acme.example' }],
  ['key: (one in 5)', { apiKey: 'key-2' }],
  ['tag: (one in 100)', { tag: { name: 'kind', value: 'invoice' } }],
  ['recipient domain (one in 5000)', { toDomain: 'reader77.example' }],
  ['to: the newest email', { to: `person${(last * 31) % 400_000}@reader${last % 5000}.example` }],
  ['id:', { id: middle }],
  ['subject, one in 50 000', { subject: ['walrus'] }],
  ['Message-ID in the middle', { messageId: `<${middle}@acme.example>` }],
  ['queue id of the oldest', { reply: `queued as ${(7919).toString(36).toUpperCase()}"` }],
  ['a word that nothing holds', { subject: ['zebra'] }],
]

const dataDir = values.data ?? mkdtempSync(join(tmpdir(), 'posthaste-bench-'))
mkdirSync(dataDir, { recursive: true })
const file = join(dataDir, 'posthaste.db')
if (!existsSync(file)) {
  const began = performance.now()
  generateEmails(file, { emails: EMAILS, body: 2048 })
  console.log(`${EMAILS} emails generated in ${((performance.now() - began) / 1000).toFixed(0)} s`)
}
const storage = await openSqlite({ dataDir })
console.log('filter                              found  chunks     page p50      page p95      chunk p95')
for (const [name, filter, after] of QUESTIONS) {
  const pages: number[] = []
  const steps: number[] = []
  let found = 0
  let stretches = 0
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    const one = await page(storage, filter, after)
    pages.push(performance.now() - began)
    steps.push(...one.steps)
    found = one.found
    stretches = one.steps.length
    // A search of all emails takes seconds, so a few samples are enough.
    if (pages.reduce((sum, ms) => sum + ms, 0) > 20_000 && round >= 2) break
  }
  const ms = (value: number): string => `${value.toFixed(1)} ms`.padEnd(14)
  console.log(
    `${name.padEnd(36)}${String(found).padEnd(7)}${String(stretches).padEnd(11)}` +
      ms(quantile(pages, 0.5)) +
      ms(quantile(pages, 0.95)) +
      ms(quantile(steps, 0.95)),
  )
}
await storage.close()
if (values.data === undefined) rmSync(dataDir, { recursive: true })
