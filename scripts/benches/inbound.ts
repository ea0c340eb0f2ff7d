import { execFile, spawn } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs, promisify } from 'node:util'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { startZoneServer } from '../../appliance/sandbox/zone.ts'
import { freeAddress } from '../../test/world/addresses.ts'
import { startPostfixInstance } from '../../test/world/postfix-instance.ts'
import { generateRsaKey, startOpenDkim } from './contestants.ts'
import type { Target } from './submission-server.ts'

const execute = promisify(execFile)
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    messages: { type: 'string', default: '2000' },
    sessions: { type: 'string', default: '50' },
    bytes: { type: 'string', default: '4000' },
  },
})
const [rounds, messages, sessions, bytes] = [
  values.rounds,
  values.messages,
  values.sessions,
  values.bytes,
].map(Number) as [number, number, number, number]

/** The domain that signs the messages. */
const SIGNER = 'sender.example'

/** A server that receives mail. */
interface Receiver {
  name: string
  /** `host:port` */
  address: string
  /** Waits until all messages of a round are available to readers, and removes them. */
  finish(): Promise<void>
}

/** Messages per second, until the last reply and until the last message is in its mailbox. */
interface Rates {
  accepted: number
  stored: number
}

/** Either one connection per message, or sessions that send all their messages. */
const ways = { 'a connection each': [], 'sessions reused': ['-d'] }

await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
const key = generateRsaKey()
const dns = await startDns()
const message = await writeMessage()
const recipients = Array.from({ length: (rounds + 1) * 2 }, (_, at) => `ada@r${at}.example`)
const receivers = [
  await startOurs(),
  await startMaildir('Postfix', {}),
  await startMaildir('Postfix + OpenDKIM', await verifier()),
]

console.log(
  `${availableParallelism()} cores, ${messages} signed messages of ${bytes} bytes per round, ${sessions} sessions at once`,
)
for (const [at, way] of Object.keys(ways).entries()) await measure(way as keyof typeof ways, at)
const lines = (await readFile(join(folder, 'log'), 'utf8'))
  .split('\n')
  .filter((line) => line.includes('"received an email"'))
const passed = lines.filter((line) => /"spf":"pass".*"dkim":"pass".*"dmarc":"pass"/.test(line))
if (passed.length < recipients.length * messages)
  throw new Error(`Only ${passed.length} messages were authenticated.`)

/** Publishes the SPF, DKIM and DMARC records of the signer. OpenDKIM can only query port 53. */
async function startDns(): Promise<string> {
  const p = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')
  const zone: Record<string, { TXT: string }> = {
    [SIGNER]: { TXT: 'v=spf1 ip4:127.0.0.0/8 -all' },
    [`bench._domainkey.${SIGNER}`]: { TXT: `v=DKIM1; k=rsa; p=${p}` },
    [`_dmarc.${SIGNER}`]: { TXT: 'v=DMARC1; p=reject' },
  }
  const server = await startZoneServer({
    address: freeAddress(),
    port: 53,
    zone: (name) => Promise.resolve(zone[name] ?? 'NXDOMAIN'),
  })
  cleanup.defer(() => server.close())
  return server.address
}

/** Writes a signed message of about `bytes` to a file, with LF line endings. */
async function writeMessage(): Promise<string> {
  const fields = [
    `From: Ada <ada@${SIGNER}>`,
    'To: reader@customer.example',
    'Subject: Your invoice',
    `Message-ID: <1@${SIGNER}>`,
    'Date: Thu, 26 Nov 2026 09:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
  ]
  const line = 'Thank you for your order. The invoice is below.\r\n'
  const text = `${fields.join('\r\n')}\r\n\r\n${line.repeat(Math.ceil(bytes / line.length))}`
  const signer = {
    signingDomain: SIGNER,
    selector: 'bench',
    privateKey: key,
    canonicalization: 'relaxed/relaxed',
  }
  // The types require the signer itself, but the code requires a list of signers.
  const { signatures } = await dkimSign(text, { ...signer, signatureData: [signer] })
  const file = join(folder, 'message')
  await writeFile(file, `${signatures.trimEnd()}\r\n${text}`.replaceAll('\r\n', '\n'))
  return file
}

async function startOurs(): Promise<Receiver & { seconds(): Promise<number> }> {
  const script = join(import.meta.dirname, 'submission-server.ts')
  const log = await open(join(folder, 'log'), 'w')
  const args = [script, folder, `${dns}:53`, String(recipients.length)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', log.fd, 'inherit', 'ipc'] })
  cleanup.defer(() => void child.kill('SIGKILL'))
  const [target] = (await once(child, 'message')) as [Target]
  await log.close()
  return {
    name: 'Posthaste',
    address: target.mx!,
    finish: () => Promise.resolve(), // Messages are stored before the reply.
    async seconds() {
      child.send('time')
      const [microseconds] = (await once(child, 'message')) as [number]
      return microseconds / 1e6
    },
  }
}

/** Starts a Postfix that delivers everything to one Maildir. */
async function startMaildir(name: string, more: Record<string, string | number>): Promise<Receiver> {
  let box = ''
  const instance = await startPostfixInstance(({ mail, uid, gid }) => {
    box = join(mail, 'box', 'new')
    return {
      settings: {
        myhostname: 'mail.acme.example',
        virtual_mailbox_domains: 'static:all',
        virtual_mailbox_maps: 'static:box/',
        virtual_mailbox_base: mail,
        virtual_uid_maps: `static:${uid}`,
        virtual_gid_maps: `static:${gid}`,
        virtual_minimum_uid: 1,
        // As permissive as the Posthaste server in this benchmark.
        smtpd_client_connection_count_limit: 0,
        in_flow_delay: 0,
        default_process_limit: Math.max(100, sessions * 2),
        ...more,
      },
    }
  })
  cleanup.defer(() => instance.close())
  const files = (): Promise<string[]> => readdir(box).catch(() => []) // The folder is created with the first message.
  return {
    name,
    address: `${instance.address}:25`,
    async finish() {
      while ((await files()).length < messages) await new Promise((resolve) => setTimeout(resolve, 20))
      await Promise.all((await files()).map((file) => rm(join(box, file))))
    },
  }
}

async function verifier(): Promise<Record<string, string>> {
  const milter = await startOpenDkim(folder, `Mode v\nNameservers ${dns}\nAlwaysAddARHeader yes\n`)
  cleanup.defer(() => milter.close())
  return { smtpd_milters: milter.socket, milter_default_action: 'tempfail' }
}

/** Sends one round. Throws if a message is refused. */
async function send(to: Receiver, way: keyof typeof ways, recipient: string): Promise<Rates> {
  const envelope = ['-f', `ada@${SIGNER}`, '-t', recipient, '-M', `mx.${SIGNER}`, '-F', message]
  const counts = ['-m', String(messages), '-s', String(sessions)]
  const start = performance.now()
  const rate = (): number => messages / ((performance.now() - start) / 1000)
  await execute('smtp-source', [...ways[way], ...envelope, ...counts, `inet:${to.address}`])
  const accepted = rate()
  await to.finish()
  return { accepted, stored: to.name === 'Posthaste' ? accepted : rate() }
}

async function measure(way: keyof typeof ways, at: number): Promise<void> {
  const found = new Map(receivers.map(({ name }): [string, Rates[]] => [name, []]))
  const [ours] = receivers as [Awaited<ReturnType<typeof startOurs>>]
  let seconds = 0
  for (let round = 0; round <= rounds; round++) {
    const recipient = recipients[at * (rounds + 1) + round]!
    const before = await ours.seconds()
    // Alternates the order, because the disk may still be busy with the previous server. The first round warms up.
    for (const to of round % 2 ? receivers : receivers.toReversed()) {
      const rates = await send(to, way, recipient)
      if (round > 0) found.get(to.name)!.push(rates)
    }
    if (round > 0) seconds += (await ours.seconds()) - before
  }
  console.log(
    `\n${way.padEnd(20)} accepted/s     stored/s     accepted and stored, Posthaste / this (median of the rounds)`,
  )
  const mine = found.get('Posthaste')!
  for (const [name, rates] of found) {
    const columns = (['accepted', 'stored'] as const).map((kind) =>
      median(rates.map((one) => one[kind])).toFixed(0),
    )
    const ratios = (['accepted', 'stored'] as const).map((kind) =>
      median(rates.map((one, round) => mine[round]!.accepted / one[kind])).toFixed(2),
    )
    console.log(
      `${name.padEnd(20)} ${columns.map((text) => text.padStart(10)).join('   ')}     ${ratios.join(' and ')}`,
    )
  }
  console.log(
    `Posthaste: ${((seconds / rounds / messages) * 1e6).toFixed(0)} us of processor time per message`,
  )
}

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2
}
