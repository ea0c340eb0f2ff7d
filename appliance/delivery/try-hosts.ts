import { isIP } from 'node:net'
import { AUTO_IP, isUsable, type AddressFamily, type Source } from '../mail/source.ts'
import type { TlsInfo } from '../mail/transcript.ts'
import { getSteadyTime, type Clock } from '../clock/clock.ts'
import type { ConversationRequest, Connections } from './connections.ts'
import type { DsnRequests } from './extensions.ts'
import type { Host } from './hosts.ts'
import type { Permit } from './permit.ts'
import type { SignedMessage } from './signed-message.ts'
import { shouldTryNextHost, pickMoreConclusiveResult } from './next-host.ts'
import type { Failure, RecipientResult, Outcome } from './outcome.ts'
import type { TlsDecision, TlsPolicies } from './policy/policy.ts'
import type { Recorder } from './recorder.ts'
import type { RecipientObservation } from './signals.ts'
import type { DomainPolicy } from './policy/view.ts'

/** Everything that `tryHosts` needs besides the message. */
export interface TryHostsDeps {
  clock: Clock
  connections: Connections
  policies: Pick<TlsPolicies, 'demandFor' | 'record'>
  recorder: Recorder
  permit: Permit
  policy: DomainPolicy
  /** TLS requirements of the hosts looked up so far. */
  demands: Map<string, TlsDecision>
  requests: DsnRequests
  /** EHLO name for sources without their own. */
  hostname: string
  /** Port of the mail exchangers. */
  port: number
  /** Deadline of the whole attempt, in milliseconds of the steady clock. */
  until: number
}

/** The result of trying the hosts. */
export interface TryHostsResult {
  outcome: Outcome
  /** TLS of the last conversation. */
  tls: TlsInfo | null
  /** Every recipient's result at every IP, for the lane. */
  seen: RecipientObservation[]
}

/** Tries IP after IP until each recipient has a conclusive result (RFC 5321 §5.1). */
export async function tryHosts(
  signed: SignedMessage,
  recipients: string[],
  hosts: Host[],
  deps: TryHostsDeps,
): Promise<TryHostsResult> {
  const { clock, connections, recorder, until, demands } = deps
  const walked: TryHostsResult = { outcome: new Map(), tls: null, seen: [] }
  let left = recipients
  for (const { host, ip } of connections.memory.order(
    listHostAddresses(hosts, deps.permit.source),
    clock.now(),
  )) {
    if (left.length === 0 || (walked.outcome.size > 0 && getSteadyTime(clock) >= until)) break
    const demanded = demands.get(host) ?? (await demandOf(host, signed, deps))
    demands.set(host, demanded)
    let outcome: Outcome
    if (demanded.kind === 'skip') outcome = refusedBy(demanded.why, host, ip, left)
    else {
      const call = callTo({ host, ip }, signed, left, demanded, deps)
      const said = await connections.converse(call, recorder)
      if (said.tlsResult) deps.policies.record(deps.policy, demanded, signed.wish, said.tlsResult)
      walked.tls = said.tls
      outcome = said.outcome
      // The message must be admitted again. Recipients without a result wait for another permit.
      if (outcome.size === 0) break
    }
    add(outcome, walked)
    left = left.filter((recipient) => shouldTryNextHost(outcome.get(recipient)!))
  }
  return walked
}

/** Returns the IPs that the source can connect to, in the order to try them. */
export function listHostAddresses(hosts: readonly Host[], source: Source): { host: string; ip: string }[] {
  return hosts.flatMap(({ name, addresses }) =>
    addresses.filter((ip) => isUsable(source, isIP(ip) as AddressFamily)).map((ip) => ({ host: name, ip })),
  )
}

/** Looks up the TLS requirement once per host, and records it in the transcript if there is one. */
async function demandOf(
  host: string,
  { wish }: SignedMessage,
  { policies, policy, recorder }: TryHostsDeps,
): Promise<TlsDecision> {
  const demanded = await policies.demandFor(policy, host, wish)
  const { note } = demanded
  if (note !== null) recorder.begin('policy', { host, ip: null }, null).end({ note })
  return demanded
}

function callTo(
  { host, ip }: { host: string; ip: string },
  { from, message, sevenBit }: SignedMessage,
  recipients: string[],
  { demand }: TlsDecision & { kind: 'demand' },
  { permit, hostname, port, until, requests }: TryHostsDeps,
): ConversationRequest {
  const { source, limits, lane, mailTurn } = permit
  return {
    host,
    ip,
    port,
    localAddress: source.ip === AUTO_IP ? undefined : source.ip,
    hostname: source.hostname ?? hostname,
    from,
    message,
    sevenBit,
    recipients,
    requests,
    demand,
    until,
    lane,
    mailTurn,
    messagesPerConnection: limits.messagesPerConnection,
    idleMs: limits.idleSeconds * 1000,
  }
}

/** The result when a policy of the recipient's domain forbids the host. */
function refusedBy(why: string, host: string, ip: string, recipients: readonly string[]): Outcome {
  const failure: Failure = { kind: 'tls', phase: 'starttls', host, ip, reply: null, note: why }
  return new Map(recipients.map((one): [string, RecipientResult] => [one, { kind: 'failed', failure }]))
}

function add(outcome: Outcome, walked: TryHostsResult): void {
  for (const [recipient, fate] of outcome) {
    walked.outcome.set(recipient, pickMoreConclusiveResult(walked.outcome.get(recipient), fate))
    walked.seen.push({ recipient, fate })
  }
}
