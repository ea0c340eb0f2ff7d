import { afterEach } from 'vitest'
import {
  type Connections,
  createConnections,
  type ConversationResult,
} from '../../../appliance/delivery/connections.ts'
import { prepareMessage } from '../../../appliance/delivery/message.ts'
import type { RecipientResult } from '../../../appliance/delivery/outcome.ts'
import { createRecorder } from '../../../appliance/delivery/recorder.ts'
import type { TlsDemand } from '../../../appliance/delivery/tls-demand.ts'
import { convertToSevenBit } from '../../../appliance/mime/seven-bit.ts'
import { formatReply } from '../../../appliance/mail/reply.ts'
import type { Step } from '../../../appliance/mail/transcript.ts'
import { freeAddress } from '../../world/addresses.ts'
import { createTestClock } from '../../world/clock.ts'
import { dialog, type ScriptedServer, type ScriptStep, startScripted } from '../../world/scripted.ts'

/** Conversations with scripted servers, for tests of connections. */

export const minute = 60_000
const servers: ScriptedServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

export type Script = string | ScriptStep[]
const steps = (script: Script): ScriptStep[] => (typeof script === 'string' ? dialog(script) : script)

/** Starts a server with a script for each connection. It is closed after the test. */
export async function serve(...scripts: Script[]): Promise<ScriptedServer> {
  const script = (connection: number): ScriptStep[] => steps(scripts[connection - 1] ?? 'S: <reset>')
  const server = await startScripted({ address: freeAddress(), port: 0, script })
  servers.push(server)
  return server
}

export interface Options {
  to?: string[]
  from?: string
  message?: string | Buffer
  /** The host name that the certificate must match. */
  host?: string
  demand?: TlsDemand
  clock?: ReturnType<typeof createTestClock>
  /** Milliseconds for the whole attempt. */
  within?: number
  /** Where connections are kept. By default, they aren't. */
  connections?: Connections
  messagesPerConnection?: number
  idleMs?: number
  /** By default, it may always send. */
  mailTurn?: () => number | null
  lane?: { key: string; connections: number }
  hostname?: string
  localAddress?: string
}

/** TLS demands, with the reasons as their sources give them. */
export const encrypted: TlsDemand = { kind: 'encrypted', why: 'The sending domain requires it.' }
export const verified: TlsDemand = { kind: 'verified', why: 'The policy says so.', requireTls: false }
export const requireTls: TlsDemand = { kind: 'verified', why: 'The sender requires it.', requireTls: true }

export interface Talked extends ConversationResult {
  steps: Step[]
  /** One line for each step that had a result: `rcpt RCPT TO:<a@b> > 250 ok (note)`. */
  lines: string[]
  /** One line per recipient. */
  fates: Record<string, string>
}

const fateLine = (fate: RecipientResult): string =>
  fate.kind === 'accepted'
    ? `accepted ${formatReply(fate.reply)}`
    : [fate.failure.kind, fate.failure.phase, fate.failure.reply && formatReply(fate.failure.reply)]
        .filter(Boolean)
        .join(' ')

/** Makes one call to the server. */
export async function talk(
  server: { address: string; port: number },
  options: Options = {},
): Promise<Talked> {
  const clock = options.clock ?? createTestClock()
  const recorder = createRecorder(clock, clock.now())
  const connections = options.connections ?? createConnections({ clock })
  const kept = options.connections !== undefined
  const bytes = Buffer.from(options.message ?? 'Subject: x\r\n\r\nHello\r\n')
  const said = await connections.converse(
    {
      host: options.host ?? 'mx.self-signed.test',
      ip: server.address,
      port: server.port,
      localAddress: options.localAddress,
      hostname: options.hostname ?? 'mail.sender.test',
      from: options.from ?? 'bounce@sender.test',
      recipients: options.to ?? ['bob@example.org'],
      message: await prepareMessage(Buffer.alloc(0), bytes),
      sevenBit: async () => {
        const made = await convertToSevenBit(bytes)
        if (made.kind === 'impossible') return { impossible: made.why }
        return { ...(await prepareMessage(Buffer.alloc(0), made.message)), converted: true }
      },
      demand: options.demand ?? { kind: 'opportunistic' },
      until: clock.now() + (options.within ?? 25 * minute),
      lane: options.lane ?? { key: 'auto test', connections: 10 },
      mailTurn: options.mailTurn ?? (() => 0),
      messagesPerConnection: options.messagesPerConnection ?? (kept ? 100 : 1),
      idleMs: options.idleMs ?? (kept ? minute : 0),
    },
    recorder,
  )
  const lines = recorder.steps.map(({ name, sent, reply, note }) =>
    [name, sent, reply && `> ${formatReply(reply)}`, note && `(${note})`].filter(Boolean).join(' '),
  )
  const fates = Object.fromEntries([...said.outcome].map(([recipient, fate]) => [recipient, fateLine(fate)]))
  return { ...said, steps: recorder.steps, lines, fates }
}

/** Returns the note of the only recipient's failure. */
export function noteOf(said: ConversationResult): string {
  const fate = [...said.outcome.values()][0]!
  return fate.kind === 'failed' ? fate.failure.note : ''
}

/** A complete successful conversation. */
export const simple = `
  S: 220 mx
  C: EHLO mail.sender.test
  S: 250 mx
  C: MAIL FROM:<bounce@sender.test>
  S: 250 2.1.0 sender ok
  C: RCPT TO:<bob@example.org>
  S: 250 2.1.5 recipient ok
  C: DATA
  S: 354 go on
  C: <body>
  S: 250 2.0.0 queued as 1
  C: QUIT
  S: 221 bye`
/** Returns that conversation up to a line of it. */
export const upTo = (line: string): string => simple.slice(0, simple.indexOf(line))
