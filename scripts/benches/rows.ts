/**
 * Measures how many bytes of each table and index one accepted and delivered email uses, and how much CPU time of the
 * daemon. Uses a receipt and a 4 kB email over REST, and a 4 kB message over SMTP. Everything is on: request log,
 * events, DKIM.
 * usage: ./scripts/bench rows [--emails N]
 */
import Database from 'better-sqlite3'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Sink } from './delivery-sink.ts'
import { processorSeconds } from './measured.ts'
import {
  createDaemonHome,
  RECIPIENT_DOMAIN,
  SENDER_DOMAIN,
  startDaemon,
  type DaemonHome,
} from './real-daemon.ts'

const { values } = parseArgs({ options: { emails: { type: 'string', default: '2000' } } })
const emails = Number(values.emails)
const AT_ONCE = 16

/** A typical shop receipt: 1.6 KB of HTML, 0.5 KB of text. */
const rows = Array.from({ length: 22 }, (_, n) => `<tr><td>Article number ${n}</td><td>${n * 7}.50</td></tr>`)
const request = (content: { html: string; text: string }): string =>
  JSON.stringify({
    from: `Shop <orders@${SENDER_DOMAIN}>`,
    to: [`ada@${RECIPIENT_DOMAIN}`],
    subject: 'Your order 4711',
    ...content,
    tags: [{ name: 'kind', value: 'receipt' }],
  })
const receipt = request({
  html: `<!doctype html><html><body><h1>Your order</h1><p>Thank you, it is on its way.</p><table>${rows.join('')}</table></body></html>`,
  text: `Your order\n\nThank you, it is on its way.\n\n${Array.from({ length: 16 }, (_, n) => `Article number ${n}: ${n * 7}.50`).join('\n')}`,
})
const sentence = 'A sentence of seventy octets, as letters have many of them, with a dot. '
const letter = request({ html: `<p>${sentence.repeat(38)}</p>`, text: sentence.repeat(15) })
const lines = 'A line of seventy-eight octets, as many programs write them in their messages\r\n'.repeat(48)
const message = `From: <app@${SENDER_DOMAIN}>\r\nTo: <ada@${RECIPIENT_DOMAIN}>\r\nSubject: Hello\r\n\r\n${lines}.\r\n`

for (const [name, send] of [
  [`REST, a receipt of ${receipt.length} bytes`, (home: DaemonHome) => post(home, receipt)],
  [`REST, a letter of ${letter.length} bytes`, (home: DaemonHome) => post(home, letter)],
  [`SMTP, message of ${message.length} bytes`, submit],
] as const)
  await measure(name, send)

async function measure(name: string, send: (home: DaemonHome) => Promise<void>): Promise<void> {
  await using cleanup = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const script = join(import.meta.dirname, 'delivery-sink.ts')
  const child = spawn(process.execPath, [script, 'plain'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  cleanup.defer(() => void child.kill('SIGKILL'))
  const [sink] = (await once(child, 'message')) as [Sink]
  const home = await createDaemonHome(folder, sink)
  cleanup.defer(() => home.close())
  const file = join(folder, 'data', 'posthaste.db')
  const before = sizes(file)
  const daemon = await startDaemon(folder, home)
  await using running = new AsyncDisposableStack()
  running.defer(() => daemon.stop('SIGKILL'))
  const start = processorSeconds([daemon.pid])
  await send(home)
  const accepted = processorSeconds([daemon.pid])
  while (delivered(file) < emails) await new Promise((resolve) => setTimeout(resolve, 200))
  const microseconds = ((processorSeconds([daemon.pid]) - start) / emails) * 1e6
  const untilAccepted = ((accepted - start) / emails) * 1e6
  running.move()
  await daemon.stop()
  print(
    `${name}: ${microseconds.toFixed(0)} us of processor time each, ${untilAccepted.toFixed(0)} until the last was accepted`,
    before,
    sizes(file),
  )
}

function read<T>(file: string, look: (db: Database.Database) => T): T {
  const db = new Database(file, { readonly: true })
  try {
    return look(db)
  } finally {
    db.close()
  }
}

function delivered(file: string): number {
  const count = "select count(*) from emails where last_event = 'delivered'"
  return read(file, (db) => db.prepare(count).pluck().get() as number)
}

/** Returns the size of each table and index, in bytes of its pages. */
function sizes(file: string): Map<string, number> {
  return read(file, (db) => {
    const found = db.prepare('select name, sum(pgsize) as bytes from dbstat group by name').all()
    return new Map((found as { name: string; bytes: number }[]).map(({ name, bytes }) => [name, bytes]))
  })
}

function print(title: string, before: Map<string, number>, after: Map<string, number>): void {
  const grown = [...after]
    .map(([name, bytes]) => ({ name, bytes: (bytes - (before.get(name) ?? 0)) / emails }))
    .filter(({ bytes }) => bytes >= 10)
    .sort((a, b) => b.bytes - a.bytes)
  console.log(`\n${title}\n`)
  for (const { name, bytes } of grown) console.log(`${name.padEnd(44)}${bytes.toFixed(0).padStart(8)}`)
  const sum = grown.reduce((total, { bytes }) => total + bytes, 0)
  console.log(`${'bytes per delivered email'.padEnd(44)}${sum.toFixed(0).padStart(8)}`)
}

async function post({ url, apiKey }: DaemonHome, body: string): Promise<void> {
  let left = emails
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
      const answer = await fetch(`${url}/emails`, { method: 'POST', headers, body })
      if (answer.status !== 200) throw new Error(`POST /emails: ${answer.status} ${await answer.text()}`)
      await answer.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
}

async function submit({ smtp }: DaemonHome): Promise<void> {
  let left = emails
  const client = async (): Promise<void> => {
    const [host, port] = smtp.split(':')
    const socket = connect({ host: host!, port: Number(port), noDelay: true }).setEncoding('latin1')
    const say = async (text: string): Promise<void> => {
      if (text !== '') socket.write(text)
      for (let reply = ''; !/^\d{3} .*\r\n$/m.test(reply);)
        reply += ((await once(socket, 'data')) as [string])[0]
    }
    await say('')
    await say(`EHLO app.${SENDER_DOMAIN}\r\n`)
    while (left-- > 0) {
      await say(`MAIL FROM:<app@${SENDER_DOMAIN}>\r\n`)
      await say(`RCPT TO:<ada@${RECIPIENT_DOMAIN}>\r\n`)
      await say('DATA\r\n')
      await say(message)
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
}
