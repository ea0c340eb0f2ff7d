/**
 * Compares the cost of composing a message (HTML and text, 2 KB) with our own composer for plain messages and with
 * nodemailer's, which is used for all others. Measures this thread's CPU time and elapsed time, in turns.
 * usage: ./scripts/bench compose [--rounds N] [--messages N]
 */
import MailComposer from 'nodemailer/lib/mail-composer'
import { availableParallelism, loadavg } from 'node:os'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { parseMailbox } from '../../appliance/mail/address.ts'
import { composePlain, type Draft } from '../../appliance/intake/compose-plain.ts'
import { median } from './measured.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, messages: { type: 'string', default: '1000' } },
})
const [rounds, messages] = [Number(values.rounds), Number(values.messages)]

const html = `<p>${'Thank you for your order, it is on its way. '.repeat(32)}</p>`
const text = 'Thank you for your order, it is on its way.\r\n'.repeat(11)
const draft: Draft = {
  from: parseMailbox('Shop <orders@acme.example>')!,
  to: [parseMailbox('Ada <ada@customer.example>')!],
  cc: [],
  replyTo: [],
  subject: 'Your order 4711',
  html,
  text,
  headers: [],
  attachments: [],
  messageId: '<one@acme.example>',
  date: Date.UTC(2026, 0, 1),
}

const ways: Record<string, () => unknown> = {
  'our own': () => composePlain(draft, text, html),
  nodemailer: () =>
    new MailComposer({
      from: 'Shop <orders@acme.example>',
      to: 'Ada <ada@customer.example>',
      subject: draft.subject,
      messageId: draft.messageId,
      date: new Date(draft.date),
      text,
      html,
      disableFileAccess: true,
      disableUrlAccess: true,
      newline: 'win',
    })
      .compile()
      .build(),
}

/** Composes all messages. Returns microseconds of CPU time per message. */
async function once(way: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  for (let n = 0; n < messages; n++) await way()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / messages
}

const seen = new Map(Object.keys(ways).map((name) => [name, [] as number[]]))
for (const way of Object.values(ways)) await once(way)
const begin = performance.now()
for (let round = 0; round < rounds; round++)
  for (const [name, way] of Object.entries(ways)) seen.get(name)!.push(await once(way))
console.log(
  `${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}, ${rounds} rounds of ${messages} in ${((performance.now() - begin) / 1000).toFixed(0)} s`,
)
for (const [name, took] of seen)
  console.log(`${name.padEnd(12)}${median(took).toFixed(0).padStart(6)} µs per message`)
const [own, theirs] = [...seen.values()] as [number[], number[]]
const ratios = own.map((took, round) => theirs[round]! / took)
console.log(
  `nodemailer / Posthaste: ${median(ratios).toFixed(1)} (${Math.min(...ratios).toFixed(1)} to ${Math.max(...ratios).toFixed(1)})`,
)
