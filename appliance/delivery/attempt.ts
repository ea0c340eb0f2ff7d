/**
 * Makes one attempt; read this file first. All deliveries of a batch belong to one email and one recipient domain.
 *
 * Network failures are values here, never exceptions. Only storage may reject, before anything was attempted.
 */
import { getSteadyTime, type Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { newId } from '../mail/ids.ts'
import { isIP } from 'node:net'
import { formatDestination, MAX_RECIPIENTS_PER_MESSAGE } from '../mail/queue.ts'
import type { AddressFamily } from '../mail/source.ts'
import type { SigningIdentity, TlsInfo, Transcript } from '../mail/transcript.ts'
import type { Signer } from '../signing/signing.ts'
import {
  runAllSteps,
  type DeliveryChange,
  type LeasedDelivery,
  type SettleArgs,
  type Storage,
} from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Cidr } from '../wire/networks.ts'
import { computeChange } from './changes.ts'
import type { Classify } from '../mail/classify.ts'
import type { Connections } from './connections.ts'
import { ATTEMPT_DEADLINE } from './deadlines.ts'
import type { DsnRequests } from './extensions.ts'
import { decideVerdict } from './verdict.ts'
import type { Lanes } from './lanes.ts'
import { signMessage } from './signed-message.ts'
import type { Failure, RecipientResult, Outcome } from './outcome.ts'
import type { TlsPolicies } from './policy/policy.ts'
import type { PermitDecision, PermitRequest, Permit } from './permit.ts'
import { createRecorder, type Recorder } from './recorder.ts'
import { findRoute, type Route } from './route.ts'
import { toLaneSignals } from './signals.ts'
import { emulateDelivery } from './test-addresses.ts'
import { sendToAllRecipients } from './try-batch.ts'
import type { TryHostsResult } from './try-hosts.ts'
import type { DomainPolicy } from './policy/view.ts'
import type { PastWait } from '../mail/waiting.ts'

export interface AttemptDeps {
  storage: Pick<Storage, 'getMessage' | 'getDomain' | 'signingKeys' | 'place' | 'findReceivers'>
  resolver: Pick<Resolver, 'resolve'>
  lanes: Pick<Lanes, 'providerOf' | 'reaches' | 'admit' | 'wait' | 'whyLate'>
  policies: Pick<TlsPolicies, 'policyFor' | 'demandFor' | 'record'>
  connections: Connections
  signer: Signer
  clock: Clock
  log: Pick<Logger, 'error'>
  /** Returns a random number in [0, 1). */
  random: () => number
  /** Classifies replies. */
  classify: Classify
  options: AttemptOptions
}

export interface AttemptOptions {
  /** EHLO name for sources without their own. */
  hostname: string
  /** Port of the mail exchangers. */
  port: number
  /** Networks that may receive mail although they are private, otherwise special, or this machine's own. */
  allowNetworks: readonly Cidr[]
  /** IPs of this machine's interfaces. */
  ownAddresses: () => readonly string[]
  /** Domains of test addresses, in lower case; no connection is made for them. */
  testDomains?: readonly string[] | undefined
  /** Identifies this run of the process in leases; passed to `settle`. */
  owner: string
}

/** The result of an attempt: what `settle` stores, and which deliveries return to the queue as if never leased. */
export interface AttemptResult {
  settle: SettleArgs | null
  giveBack: { deliveryIds: string[]; dueAt: number | undefined } | null
  /**
   * Call this when the result is stored, or can't be. Until then the attempt counts against its lane's limits. Returns
   * true when the lane was waiting for this call.
   */
  settled: () => boolean
}

/** State shared by the steps of an attempt. */
interface Run {
  deps: AttemptDeps
  batch: LeasedDelivery[]
  recorder: Recorder
  startedAt: number
  /** Why the attempt began later than it was due; undefined if it didn't. */
  waited: PastWait | undefined
  /** The provider of the domain. */
  provider: string
  /** Identities that signed the message; set once it is signed. */
  signatures?: SigningIdentity[]
  /** Set once a server may have received the message. */
  sending?: true
}

/** An attempt that failed before anything was sent, with the reason as its cause. */
export class NotSentError extends Error {}

/**
 * Attempts to deliver a batch: finds the route, acquires a permit, signs, runs the SMTP conversation, evaluates the
 * result.
 * @param placed called when the batch no longer waits for its lane
 * @throws NotSentError if a storage failure or a bug ended the attempt before anything was sent
 */
export async function attemptDelivery(
  batch: LeasedDelivery[],
  deps: AttemptDeps,
  placed: () => void = () => undefined,
): Promise<AttemptResult> {
  const startedAt = deps.clock.now()
  const { domain, provider } = batch[0]!
  const recorder = createRecorder(deps.clock, startedAt)
  const waited = deps.lanes.whyLate(batch[0]!)
  const run: Run = { deps, batch, recorder, startedAt, waited, provider }
  if (deps.options.testDomains?.includes(domain)) return onlySettle(rehearsed(run))
  try {
    return await tryToDeliver(run, placed)
  } catch (error) {
    throw run.sending ? error : new NotSentError('The attempt failed before sending.', { cause: error })
  }
}

async function tryToDeliver(run: Run, placed: () => void): Promise<AttemptResult> {
  const { deps, batch, provider } = run
  const { domain, pool } = batch[0]!
  const way = await findWay(run)
  if (way.kind === 'failed') return onlySettle(settlement(run, nothing(batch, way.failure)))
  run.provider = deps.lanes.providerOf(way.best)
  if (run.provider !== provider) await place(domain, run)

  const ask: PermitRequest = {
    pool,
    provider: run.provider,
    recipients: recipientsOf(batch).length,
    families: familiesOf(way),
  }
  const { permit, ready } = await admitted(ask, way, run, placed)
  if (permit.kind !== 'permit')
    return onlyGiveBack(back(batch, permit.kind === 'full' ? permit.retryAt : null))

  let walked: TryHostsResult | undefined
  try {
    const prepared = await (ready ?? prepare(way, run))
    if (prepared.signed.kind === 'signed') run.signatures = prepared.signed.signatures
    run.sending = true
    walked = await send(way, permit, prepared, run)
  } finally {
    // Always return the permit, whatever happened.
    permit.release(walked ? toLaneSignals(walked.seen, run.provider, deps.classify) : [])
    if (!walked) permit.settled()
  }
  const tried = batch.filter(({ recipient }) => walked.outcome.has(recipient))
  const left = batch.filter(({ recipient }) => !walked.outcome.has(recipient))
  return {
    settle: tried.length > 0 ? settlement({ ...run, batch: tried }, walked, permit.source.ip) : null,
    giveBack: left.length > 0 ? back(left, null) : null,
    settled: () => permit.settled(),
  }
}

const onlySettle = (settle: SettleArgs): AttemptResult => ({ settle, giveBack: null, settled: () => false })
const onlyGiveBack = (giveBack: AttemptResult['giveBack']): AttemptResult => ({
  settle: null,
  giveBack,
  settled: () => false,
})

/**
 * Acquires a permit. A batch leased ahead of a free connection prepares its message while it waits for one. A batch
 * leased for another destination doesn't wait, because it wasn't counted for this one.
 */
async function admitted(
  ask: PermitRequest,
  way: Route & { kind: 'found' },
  run: Run,
  placed: () => void,
): Promise<{ permit: PermitDecision; ready?: Promise<Ready> }> {
  const { lanes } = run.deps
  const permit = lanes.admit(ask)
  if (permit.kind !== 'busy' || run.provider !== run.batch[0]!.provider) {
    placed()
    return { permit }
  }
  const ready = prepare(way, run)
  // The code that gets the permit awaits this promise and sees its failure. Without a permit, nothing uses it.
  ready.catch(() => undefined)
  const later = await lanes.wait(ask)
  placed()
  return { permit: later, ready }
}

const recipientsOf = (batch: readonly LeasedDelivery[]): string[] => [
  ...new Set(batch.map(({ recipient }) => recipient)),
]

const back = (batch: readonly LeasedDelivery[], dueAt: number | null): AttemptResult['giveBack'] => ({
  deliveryIds: batch.map(({ id }) => id),
  dueAt: dueAt ?? undefined,
})

/** Finds the hosts of the domain, with the IPs that a source of the pool can connect to. */
function findWay({ deps, batch, recorder }: Run): Promise<Route> {
  const { lanes, resolver, random, options, storage, clock } = deps
  const { domain, pool } = batch[0]!
  const { hostname, allowNetworks, ownAddresses } = options
  const sources = { reaches: (ip: string) => lanes.reaches(pool, isIP(ip) as AddressFamily) }
  const receives = async (name: string): Promise<boolean> =>
    (await storage.findReceivers({ name }, clock.now())).length > 0
  const where = { hostname, allowNetworks, ownAddresses, sources, receives }
  return findRoute(domain, recorder, { resolver, random, ...where })
}

function familiesOf({ hosts }: Route & { kind: 'found' }): AddressFamily[] {
  return [...new Set(hosts.flatMap(({ addresses }) => addresses.map((ip) => isIP(ip) as AddressFamily)))]
}

/** Stores the provider of a domain. Other queued mail for the domain is assigned to that provider, too. */
async function place(domain: string, { deps, provider }: Run): Promise<void> {
  const { storage, clock } = deps
  await runAllSteps((after) => storage.place({ domain, provider, after }, clock.now()))
}

/** Everything that sending needs besides a connection. */
interface Ready {
  policy: DomainPolicy
  signed: Awaited<ReturnType<typeof signMessage>>
}

/** Looks up the domain's TLS policies, and signs. */
async function prepare(way: Route & { kind: 'found' }, { deps, batch }: Run): Promise<Ready> {
  const [policy, signed] = await Promise.all([
    deps.policies.policyFor(batch[0]!.domain, way.authentic),
    signMessage(batch[0]!, deps),
  ])
  return { policy, signed }
}

/** Tries one host after another. Recipients that the permit or the lane's pace doesn't cover get no result. */
async function send(
  way: Route & { kind: 'found' },
  permit: Permit,
  { policy, signed }: Ready,
  { deps, batch, recorder }: Run,
): Promise<TryHostsResult> {
  if (signed.kind === 'failed') return nothing(batch, signed.failure)
  const { connections, clock, policies, options } = deps
  const { hostname, port } = options
  const until = getSteadyTime(clock) + ATTEMPT_DEADLINE
  const requests = requestsOf(batch)
  const how = {
    clock,
    connections,
    policies,
    recorder,
    permit,
    policy,
    demands: new Map(),
    requests,
    hostname,
    port,
    until,
  }
  return sendToAllRecipients(signed, recipientsOf(batch).slice(0, permit.recipients), way.hosts, how)
}

/**
 * Returns the sender's requests for reports. Requests for the whole message are the same for every delivery in the
 * batch.
 */
function requestsOf(batch: readonly LeasedDelivery[]): DsnRequests {
  const { ret, envid } = batch[0]!.dsn
  return { ret, envid, of: new Map(batch.map(({ recipient, dsn }) => [recipient, dsn])) }
}

/** Returns the result of an attempt that contacted no server. It has no signals, so the lanes stay unchanged. */
function nothing(batch: readonly LeasedDelivery[], failure: Failure): TryHostsResult {
  const outcome = new Map(
    recipientsOf(batch).map((one): [string, RecipientResult] => [one, { kind: 'failed', failure }]),
  )
  return { outcome, tls: null, seen: [] }
}

/** Returns the settlement to store for a batch of test addresses. */
function rehearsed(run: Run): SettleArgs {
  const { batch, deps } = run
  const now = deps.clock.now()
  const { transcript, changes } = emulateDelivery(batch, deps.options.testDomains ?? [], now)
  return written(run, transcript, changes, now)
}

/** Returns the settlement to store: the attempt, and each delivery's change. */
function settlement(run: Run, { outcome, tls }: Result, source?: string): SettleArgs {
  const { deps, batch, recorder, provider } = run
  const { clock, random, classify } = deps
  const now = clock.now()
  // One random number for all recipients, so that deliveries deferred together are retried together, in one transaction
  // (RFC 5321 §4.5.4.1).
  const bench = { classify, alone: outcome.size === 1, random: random() }
  const changes = batch.map((delivery) => {
    const verdict = decideVerdict(outcome.get(delivery.recipient)!, { ...delivery, provider }, now, bench)
    return computeChange(delivery, verdict, now)
  })
  const { host, ip } = lastReached(outcome)
  const transcript = { steps: recorder.steps, host, ip, tls, ...(source !== undefined && { source }) }
  return written(run, transcript, changes, now)
}

function written(
  { deps, batch, startedAt, waited, signatures }: Run,
  transcript: Transcript,
  changes: DeliveryChange[],
  now: number,
): SettleArgs {
  const first = batch[0]!
  return {
    owner: deps.options.owner,
    attempt: {
      id: newId(startedAt),
      teamId: first.teamId,
      emailId: first.emailId,
      deliveryIds: batch.map((delivery) => delivery.id),
      startedAt,
      endedAt: now,
      transcript: { ...transcript, ...(signatures && { signatures }), ...(waited && { waited }) },
    },
    changes,
  }
}

interface Result {
  outcome: Outcome
  tls: TlsInfo | null
}

/** Returns the host whose reply decided the outcome, preferably one that accepted a recipient. */
function lastReached(outcome: Outcome): { host: string | null; ip: string | null } {
  const fates = [...outcome.values()]
  const fate: RecipientResult = fates.find(({ kind }) => kind === 'accepted') ?? fates[0]!
  return fate.kind === 'accepted' ? fate : fate.failure
}

/**
 * Splits leased deliveries into batches as `lease` counts them: same email, domain and destination, and at most `most`
 * recipients.
 */
export function splitIntoBatches(
  leased: LeasedDelivery[],
  most = MAX_RECIPIENTS_PER_MESSAGE,
): LeasedDelivery[][] {
  const groups = Map.groupBy(leased, (one) => `${one.emailId} ${one.domain} ${formatDestination(one)}`)
  return [...groups.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / most) }, (_, at) =>
      group.slice(at * most, (at + 1) * most),
    ),
  )
}
