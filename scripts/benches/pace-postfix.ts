/**
 * Shows how the daemon finds the limits of a real Postfix: two concurrent connections, and a number of messages per
 * minute. Prints, per minute, the numbers of messages that were accepted and refused, and the rate that the lane
 * allows. Runs in real time, as root.
 * usage: ./scripts/bench pace-postfix [--limit 60] [--minutes 20]
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostfix } from '../../test/world/postfix.ts'
import { createDaemonHome, RECIPIENT_DOMAIN, SENDER_DOMAIN, startDaemon } from './real-daemon.ts'

const { values } = parseArgs({
  options: { limit: { type: 'string', default: '60' }, minutes: { type: 'string', default: '20' } },
})
const [limit, minutes] = [Number(values.limit), Number(values.minutes)]
const MINUTE = 60_000
/** Number of emails per POST /emails/batch. */
const BATCH = 100

await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
const postfix = await startPostfix({
  domain: RECIPIENT_DOMAIN,
  host: `mx.${RECIPIENT_DOMAIN}`,
  settings: {
    smtpd_client_connection_count_limit: 2,
    smtpd_client_message_rate_limit: limit,
    anvil_rate_time_unit: '60s',
    // By default, Postfix exempts loopback from its limits.
    smtpd_client_event_limit_exceptions: '',
    smtpd_tls_security_level: 'none',
  },
})
cleanup.defer(() => postfix.close())
const home = await createDaemonHome(folder, { address: postfix.address, port: 25 })
cleanup.defer(() => home.close())
// Lanes start with the shipped rate.
const providers = join(folder, 'providers.toml')
const raised = await readFile(providers, 'utf8')
await writeFile(providers, raised.replace('messages_per_minute = 600000', 'messages_per_minute = 6000'))
const daemon = await startDaemon(folder, home)
cleanup.defer(() => daemon.stop())

const headers = { authorization: `Bearer ${home.apiKey}`, 'content-type': 'application/json' }
const start = Date.now()
for (let sent = 0; sent < limit * (minutes + 2); sent += BATCH) await sendBatch(sent)

console.log(`Postfix: 2 connections, ${limit} messages a minute\n`)
console.log('minute  allowed  accepted  refused  connections refused')
let before = await counts()
for (let minute = 1; minute <= minutes; minute++) {
  await new Promise((resolve) => setTimeout(resolve, start + minute * MINUTE - Date.now()))
  const now = await counts()
  const cells = [minute, await allowedRate(), ...now.map((count, at) => count - before[at]!)]
  console.log(cells.map((cell, at) => String(cell).padStart([6, 8, 9, 8, 20][at]!)).join(' '))
  before = now
}

async function sendBatch(first: number): Promise<void> {
  const emails = Array.from({ length: BATCH }, (_, n) => ({
    from: `app@${SENDER_DOMAIN}`,
    to: [`r${first + n}@${RECIPIENT_DOMAIN}`],
    subject: `Message ${first + n}`,
    text: 'Hello',
  }))
  const response = await fetch(`${home.url}/emails/batch`, {
    method: 'POST',
    headers,
    body: JSON.stringify(emails),
  })
  if (!response.ok) throw new Error(await response.text())
}

/** Returns how many messages Postfix accepted and refused so far, and how many connections it refused. */
async function counts(): Promise<number[]> {
  const log = await postfix.log()
  const said = [/status=sent/g, /Message delivery request rate limit/g, /Connection concurrency limit/g]
  return said.map((words) => log.match(words)?.length ?? 0)
}

/** Returns the messages per minute that the lane allows. */
async function allowedRate(): Promise<number> {
  const response = await fetch(`${home.url}/lanes`, { headers })
  const { data } = (await response.json()) as { data: { messages_per_minute: number }[] }
  return data[0]?.messages_per_minute ?? 0
}
