import type { Clock } from '../clock/clock.ts'
import { type Order, type Said, speak } from './conversation.ts'
import { DEADLINES } from './deadlines.ts'
import { dial } from './dial.ts'
import type { Fate, Failure } from './outcome.ts'
import type { Recorder } from './recorder.ts'
import { SmtpWire } from './smtp-wire.ts'

/** One address of one host, and how to get there. */
export interface Call extends Omit<Order, 'tls'> {
  port: number
  localAddress: string | undefined
  tls: Exclude<Order['tls'], 'none'>
  /** When all must be over, Unix milliseconds. */
  until: number
}

/**
 * Talks to one address. When TLS fails and is not required, tries once more without: a server with broken TLS gets its mail
 * as a server without TLS does (RFC 7435 §3). Never throws for what the internet does.
 */
export async function converse(call: Call, recorder: Recorder, clock: Clock): Promise<Said> {
  const said = await connectAndSpeak(call, call.tls, recorder, clock)
  if (!said.tlsBroke || call.tls !== 'opportunistic') return said
  return connectAndSpeak(call, 'none', recorder, clock)
}

async function connectAndSpeak(
  call: Call,
  tls: Order['tls'],
  recorder: Recorder,
  clock: Clock,
): Promise<Said> {
  const { host, ip, port, localAddress, until } = call
  const step = recorder.begin('connect', { host, ip }, null)
  const timeout = Math.min(DEADLINES.connect, Math.max(0, until - clock.now()))
  const dialled = await dial({ ip, port, localAddress, timeout }, clock)
  const again = tls === 'none' ? ' again, without TLS, because it failed' : ''
  if (dialled.kind === 'failed') {
    const note = `${host} ${dialled.note}.`
    step.end({ note })
    const failure: Failure = { kind: dialled.why, phase: 'connect', host, ip, reply: null, note }
    const fate: Fate = { kind: 'failed', failure }
    return { outcome: new Map(call.recipients.map((one) => [one, fate])), tls: null, tlsBroke: false }
  }
  step.end({ note: `Connected${again} from ${dialled.socket.localAddress} to port ${port}.` })
  return speak(new SmtpWire(dialled.socket, clock, until), { ...call, tls }, recorder)
}
