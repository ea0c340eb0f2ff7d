/**
 * Measures how many messages per second are accepted over SMTP from a trusted network, durably before the reply.
 * Compares with Postfix, which writes to its queue (with its own fsync) and holds the messages there. Both run on the
 * same machine, in turns, with Postfix's smtp-source as the client. Prints a table. Needs root and Postfix. With
 * --mime, the messages are text and HTML as programs send them: two parts, UTF-8, base64.
 * usage: ./scripts/bench submission [--rounds N] [--messages N] [--sessions N] [--bytes N] [--mime]
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { open, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs, promisify } from 'node:util'
import { startPostfixInstance } from '../../test/world/postfix-instance.ts'
import type { Target } from './submission-server.ts'

const execute = promisify(execFile)
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    messages: { type: 'string', default: '4000' },
    sessions: { type: 'string', default: '50' },
    bytes: { type: 'string', default: '2000' },
    mime: { type: 'boolean', default: false },
  },
})
const [rounds, messages, sessions, bytes] = [
  values.rounds,
  values.messages,
  values.sessions,
  values.bytes,
].map(Number) as [number, number, number, number]

type Name = 'ours' | 'postfix'
type Address = Pick<Target, 'address' | 'domain'>
const names: Name[] = ['ours', 'postfix']
/** Either one connection per message, or sessions that send all their messages. */
const ways = { 'a connection each': [], 'sessions reused': ['-d'] }
type Way = keyof typeof ways

await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
const content = values.mime ? ['-F', await writeMimeMessage()] : ['-l', String(bytes)]
const ours = await startOurs()
const postfix = await startPostfixQueue()
const targets: Record<Name, Address> = { ours: ours.target, postfix: postfix.target }

console.log(
  `${availableParallelism()} cores, ${messages} messages of ${bytes} bytes${values.mime ? ' in two parts' : ''} per round, ${sessions} sessions at once`,
)
for (const way of Object.keys(ways) as Way[]) await measure(way)

/** Writes a message of about `bytes` to a file, with LF line endings. */
async function writeMimeMessage(): Promise<string> {
  const sentence = 'Gr\u00fc\u00dfe aus dem B\u00fcro. '
  const repeated = sentence.repeat(Math.max(1, Math.round(bytes / 3 / sentence.length)))
  const encoded = (text: string): string => Buffer.from(text).toString('base64').replaceAll(/.{76}/g, '$&\n')
  const parts = [
    ['plain', repeated],
    ['html', `<p>${repeated}</p>`],
  ].map(
    ([kind, text]) =>
      `--b1\nContent-Type: text/${kind}; charset=utf-8\nContent-Transfer-Encoding: base64\n\n${encoded(text!)}\n`,
  )
  const fields = [
    'From: App <app@acme.example>',
    'To: ada@customer.example',
    'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
    'MIME-Version: 1.0',
    'Content-Type: multipart/alternative; boundary="b1"',
  ]
  const file = join(folder, 'message')
  await writeFile(file, `${fields.join('\n')}\n\n${parts.join('')}--b1--\n`)
  return file
}

async function startOurs(): Promise<{ child: ChildProcess; target: Target }> {
  const script = join(import.meta.dirname, 'submission-server.ts')
  const log = await open(join(folder, 'log'), 'w')
  const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', log.fd, 'inherit', 'ipc'] })
  cleanup.defer(() => void child.kill('SIGKILL'))
  const [target] = (await once(child, 'message')) as [Target]
  await log.close()
  return { child, target }
}

/**
 * Starts a Postfix that only accepts mail. Messages go to its hold queue, where no other part of Postfix processes
 * them.
 */
async function startPostfixQueue(): Promise<{ target: Address; empty(): Promise<void> }> {
  const settings = {
    myhostname: 'mail.acme.example',
    mynetworks: '127.0.0.0/8',
    smtpd_client_restrictions: 'check_client_access static:HOLD',
    // As permissive as a server for trusted networks can be. Posthaste's limits are raised, too.
    smtpd_client_connection_count_limit: 0,
    default_process_limit: Math.max(100, sessions * 2),
    default_transport: 'discard:',
  }
  const instance = await startPostfixInstance(() => ({ settings }))
  cleanup.defer(() => instance.close())
  return {
    target: { address: `${instance.address}:25`, domain: 'acme.example' },
    empty: async () => void (await execute('postsuper', ['-c', instance.etc, '-d', 'ALL', 'hold'])),
  }
}

/** Returns our server's CPU time so far, over all threads, in microseconds. */
async function processorTime(): Promise<number> {
  ours.child.send('time')
  const [time] = (await once(ours.child, 'message')) as [number]
  return time
}

/** Sends one round. Returns messages per second. Throws if a message is refused. */
async function send(name: Name, way: Way): Promise<number> {
  const { address, domain } = targets[name]
  const envelope = ['-f', `app@${domain}`, '-t', 'ada@customer.example', '-M', 'app-host.example']
  const counts = ['-m', String(messages), '-s', String(sessions), ...content]
  const start = performance.now()
  await execute('smtp-source', [...ways[way], ...envelope, ...counts, `inet:${address}`])
  const rate = messages / ((performance.now() - start) / 1000)
  if (name === 'postfix') await postfix.empty()
  return rate
}

async function measure(way: Way): Promise<void> {
  const rates: Record<Name, number[]> = { ours: [], postfix: [] }
  for (const name of names) await send(name, way)
  let time = 0
  for (let round = 1; round <= rounds; round++) {
    const before = await processorTime()
    // Alternates the order, because the disk may still be busy with the previous server.
    for (const name of round % 2 ? names : names.toReversed()) rates[name].push(await send(name, way))
    time += (await processorTime()) - before
    const [us, other] = names.map((name) => rates[name].at(-1)!)
    console.log(`${way}, round ${round}: Posthaste ${us!.toFixed(0)}/s, Postfix ${other!.toFixed(0)}/s`)
  }
  const ratio = median(rates.ours.map((rate, at) => rate / rates.postfix[at]!))
  console.log(`
${way.padEnd(20)} accepted/s (median)
Posthaste           ${median(rates.ours).toFixed(0).padStart(12)}     ${(time / rounds / messages).toFixed(0)} us of processor time per message
Postfix             ${median(rates.postfix).toFixed(0).padStart(12)}
Posthaste / Postfix ${ratio.toFixed(2).padStart(12)}     (median of the rounds)
`)
}

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2
}
