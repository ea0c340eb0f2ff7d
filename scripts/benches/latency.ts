/**
 * Measures a message's latency on an idle system: from the reply that accepts it (250 after the final dot, or 200 for
 * POST /emails) to the 250 of the recipient's server, which runs in this process. All features are on: durable commits,
 * DKIM, events.
 * usage: ./scripts/bench latency [--messages N] [--pause MS]
 */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { freeAddress } from '../../test/world/addresses.ts'
import { quantile } from './measured.ts'
import { createDaemonHome, RECIPIENT_DOMAIN, SENDER_DOMAIN, startDaemon } from './real-daemon.ts'

const { values } = parseArgs({
  options: { messages: { type: 'string', default: '200' }, pause: { type: 'string', default: '50' } },
})
const messages = Number(values.messages)

/** Called when the recipient's server has accepted a message, with the time of its 250. */
let taken: (at: number) => void = () => undefined

await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
const home = await createDaemonHome(folder, await startExchanger())
cleanup.defer(() => home.close())
const daemon = await startDaemon(folder, home)
cleanup.defer(() => daemon.stop())

console.log(
  `${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}, ${messages} messages of 4 kB, one after the other\n`,
)
console.log(
  `${'accepted -> 250 of the remote server'.padEnd(40)}${['p50', 'p99', 'longest'].map((c) => c.padStart(12)).join('')}`,
)
const client = await openClient()
await measure('SMTP', () => client.send())
await measure('REST', post)
client.close()

/** Starts a small SMTP server (RFC 5321) that accepts everything. */
async function startExchanger(): Promise<{ address: string; port: number }> {
  const server = createServer({ noDelay: true }, (socket) => {
    let unread = ''
    let body = false
    socket.on('error', () => socket.destroy())
    socket.write('220 exchanger ESMTP\r\n')
    socket.on('data', (chunk) => {
      const lines = (unread + chunk.toString('latin1')).split('\r\n')
      unread = lines.pop()!
      for (const line of lines) body = answer(socket, line, body)
    })
  })
  server.listen(0, freeAddress())
  await once(server, 'listening')
  cleanup.defer(() => void server.close())
  return server.address() as AddressInfo
}

/** Returns whether the next line belongs to a message. */
function answer(socket: Socket, line: string, body: boolean): boolean {
  if (body && line !== '.') return true
  const command = line.slice(0, 4).toUpperCase()
  if (body) {
    socket.write('250 2.0.0 taken\r\n')
    taken(performance.now())
  } else if (command === 'EHLO') socket.write('250-exchanger\r\n250 PIPELINING\r\n')
  else if (command === 'QUIT') socket.end('221 2.0.0 bye\r\n')
  else socket.write(command === 'DATA' ? '354 go on\r\n' : '250 2.0.0 ok\r\n')
  return !body && command === 'DATA'
}

/** Opens a session with the trusted listener. `send` resolves with the time of the 250. */
async function openClient(): Promise<{ send(): Promise<number>; close(): void }> {
  const [host, port] = home.smtp.split(':')
  const socket = connect({ host: host!, port: Number(port), noDelay: true }).setEncoding('latin1')
  const say = async (text: string): Promise<void> => {
    if (text !== '') socket.write(text)
    for (let reply = ''; !/^\d{3} .*\r\n$/m.test(reply);)
      reply += ((await once(socket, 'data')) as [string])[0]
  }
  await say('')
  await say(`EHLO app.${SENDER_DOMAIN}\r\n`)
  const text =
    `${'A line of seventy-eight octets, as many programs write them in their messages.'.slice(0, 78)}\r\n`.repeat(
      48,
    )
  const message = `From: <app@${SENDER_DOMAIN}>\r\nTo: <ada@${RECIPIENT_DOMAIN}>\r\nSubject: Hello\r\n\r\n${text}.\r\n`
  return {
    async send() {
      await say(`MAIL FROM:<app@${SENDER_DOMAIN}>\r\n`)
      await say(`RCPT TO:<ada@${RECIPIENT_DOMAIN}>\r\n`)
      await say('DATA\r\n')
      await say(message)
      return performance.now()
    },
    close: () => socket.destroy(),
  }
}

async function post(): Promise<number> {
  const response = await fetch(`${home.url}/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${home.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      from: `app@${SENDER_DOMAIN}`,
      to: `ada@${RECIPIENT_DOMAIN}`,
      subject: 'Hello',
      text: 'Text\n'.repeat(800),
    }),
  })
  const at = performance.now()
  if (response.status !== 200) throw new Error(`POST /emails: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
  return at
}

async function measure(name: string, send: () => Promise<number>): Promise<void> {
  const times: number[] = []
  for (let n = 0; n < messages + 20; n++) {
    const arrival = new Promise<number>((resolve) => (taken = resolve))
    const accepted = await send()
    // The recipient's server may accept the message before this process has read the reply.
    const time = Math.max(0, (await arrival) - accepted)
    // The first messages run with cold caches.
    if (n >= 20) times.push(time)
    await new Promise((resolve) => setTimeout(resolve, Number(values.pause)))
  }
  const cells = [quantile(times, 0.5), quantile(times, 0.99), Math.max(...times)]
  console.log(name.padEnd(40) + cells.map((cell) => `${cell.toFixed(1)} ms`.padStart(12)).join(''))
}
