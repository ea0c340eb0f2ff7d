import { getSteadyTime, type Clock } from '../clock/clock.ts'
import { crashPoint } from '../watch/crash-points.ts'
import { DEADLINES } from './deadlines.ts'
import { dial } from './connect.ts'
import type { HostMemory } from './host-cache.ts'
import type { Failure } from './outcome.ts'
import type { Recorder } from './recorder.ts'
import { openSession } from './introduction.ts'
import type { Session } from './session.ts'
import { SmtpClientSocket } from './smtp-wire.ts'
import type { HandshakeKind, TlsResult } from './tls.ts'
import { demandsTls } from './tls-demand.ts'
import type { TransactionInput } from './supported.ts'

/** A message for one IP of one host, and how to connect to it. */
export interface ConnectRequest extends TransactionInput {
  port: number
  /** Source IP; undefined lets the system choose. */
  localAddress: string | undefined
  /** Deadline of the whole attempt, in milliseconds of the steady clock. */
  until: number
}

/** A session, or the reason why it couldn't be opened; `closed` resolves when the last socket is closed. */
export type ConnectResult = { closed: Promise<void> } & (
  | { kind: 'open'; session: Session; result: TlsResult | null }
  | { kind: 'failed'; failure: Failure; result: TlsResult | null }
)

export interface ConnectDeps {
  clock: Clock
  memory: HostMemory
  /** Aborted when Posthaste stops. */
  stopping?: AbortSignal | undefined
}

/** Kinds of handshake, in order. Each is tried after the previous one failed. */
const LADDER: readonly HandshakeKind[] = ['full', 'reduced', 'none']

/** Why a connection starts with less than full TLS, shown after "Connected". */
const AGAIN: Record<HandshakeKind, string> = {
  full: '',
  reduced: ' again with a smaller ClientHello, because TLS failed,',
  none: ' again without TLS, because TLS failed,',
}

function remembered(hello: HandshakeKind, since: number): string {
  const on = `failed on ${new Date(since).toISOString()},`
  if (hello === 'none') return ` without TLS, because TLS ${on}`
  return hello === 'reduced' ? ` with a smaller ClientHello, because the full one ${on}` : ''
}

/**
 * Opens a session with one IP. If the handshake fails, reconnects with a smaller ClientHello. If that fails, too, and
 * TLS isn't required, reconnects without TLS: a server with broken TLS gets its mail like one without TLS (RFC 7435
 * §3). Remembers what worked, and starts with that next time. Only one socket is open at a time.
 */
export async function connectWithFallback(
  visit: ConnectRequest,
  recorder: Recorder,
  deps: ConnectDeps,
): Promise<ConnectResult> {
  const { clock, memory } = deps
  const strict = demandsTls(visit.demand)
  const known = memory.hello(visit, clock.now())
  // A host with broken TLS may have been fixed. If TLS is required, full TLS is the only chance.
  const first = strict && known.hello === 'none' ? 'full' : known.hello
  const ladder = LADDER.slice(LADDER.indexOf(first)).filter((hello) => !strict || hello !== 'none')
  let broken: Attempted | undefined
  for (const hello of ladder) {
    await broken?.closed
    const why = broken ? AGAIN[hello] : remembered(hello, known.since ?? 0)
    const attempted = await connectOnce({ visit, hello, why }, recorder, deps)
    if (attempted.kind === 'open') {
      remember(attempted.session, hello, known.hello, visit, deps)
      return attempted
    }
    // The failure that made a second connection necessary says more than a second connection that got no response.
    if (!attempted.tlsBroke) return broken && isDead(attempted.failure) ? broken : attempted
    broken = attempted
  }
  return broken!
}

type Attempted = ConnectResult & { tlsBroke: boolean }

async function connectOnce(
  { visit, hello, why }: { visit: ConnectRequest; hello: HandshakeKind; why: string },
  recorder: Recorder,
  { clock, memory, stopping }: ConnectDeps,
): Promise<Attempted> {
  const { host, ip, port, localAddress, until } = visit
  const step = recorder.begin('connect', { host, ip }, null)
  const timeout = Math.min(DEADLINES.connect, Math.max(0, until - getSteadyTime(clock)))
  crashPoint('connect')
  const dialled = await dial({ ip, port, localAddress, timeout, stopping }, clock)
  if (dialled.kind === 'failed') {
    const note = `${host} ${dialled.note}.`
    step.end({ note })
    const failure: Failure = { kind: dialled.why, phase: 'connect', host, ip, reply: null, note }
    if (isDead(failure)) memory.died(ip, clock.now())
    return { kind: 'failed', failure, tlsBroke: false, result: null, closed: Promise.resolve() }
  }
  step.end({ note: `Connected${why} from ${dialled.socket.localAddress} to port ${port}.` })
  const wire = new SmtpClientSocket(dialled.socket, clock, until, stopping)
  const opened = await openSession(wire, { ...visit, recorder, hello }, clock.now())
  const { closed } = wire
  if (opened.kind === 'open') {
    memory.lives(ip)
    return { ...opened, tlsBroke: false, result: opened.session.result, closed }
  }
  if (isDead(opened.failure)) memory.died(ip, clock.now())
  else memory.lives(ip)
  return { ...opened, closed }
}

/** Whether the host is down. Faults of this machine say nothing about it. */
function isDead({ kind, phase }: Failure): boolean {
  return (kind === 'network' || kind === 'timeout') && (phase === 'connect' || phase === 'greeting')
}

function remember(
  { tls }: Session,
  hello: HandshakeKind,
  known: HandshakeKind,
  visit: ConnectRequest,
  { clock, memory }: ConnectDeps,
): void {
  if (hello === known) return // nothing new, so the known entry keeps its expiry time
  if (hello === 'full') memory.forget(visit)
  else if (hello === 'none' || tls) memory.learn(visit, hello, clock.now())
}
