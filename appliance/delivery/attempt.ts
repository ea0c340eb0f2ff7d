/**
 * One attempt: the page to read first. All deliveries of a batch belong to one email and to one recipient domain.
 *
 * What the internet does is a value here, never an exception; only the storage may reject, and then nothing was tried.
 */
import { steady, type Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { newId } from '../mail/ids.ts'
import { isIP } from 'node:net'
import type { Family } from '../mail/source.ts'
import type { SigningIdentity, TlsInfo, Transcript } from '../mail/transcript.ts'
import type { Signer } from '../signing/signing.ts'
import { every, type Change, type LeasedDelivery, type SettleArgs, type Storage } from '../storage/storage.ts'
import type { Cidr } from '../wire/networks.ts'
import { changeFor } from './changes.ts'
import type { Classify } from '../mail/classify.ts'
import type { Connections } from './connections.ts'
import { ATTEMPT_DEADLINE } from './deadlines.ts'
import type { Requests } from './extensions.ts'
import { judge } from './judge.ts'
import type { Lanes } from './lanes.ts'
import { signed } from './letter.ts'
import type { Failure, Fate, Outcome } from './outcome.ts'
import type { TlsPolicies } from './policy/policy.ts'
import type { Admission, Ask, Permit } from './permit.ts'
import { createRecorder, type Recorder } from './recorder.ts'
import { route, type Route } from './route.ts'
import { signalsOf } from './signals.ts'
import { emulate } from './test-addresses.ts'
import { walkAll } from './walk-all.ts'
import type { Walked } from './walk.ts'
import type { DomainPolicy } from './policy/view.ts'
import type { Waited } from '../mail/waiting.ts'

export interface AttemptDeps {
  storage: Pick<Storage, 'getMessage' | 'getDomain' | 'signingKeys' | 'place' | 'findReceivers'>
  resolver: Pick<Resolver, 'resolve'>
  lanes: Pick<Lanes, 'providerOf' | 'reaches' | 'admit' | 'wait' | 'whyLate'>
  policies: Pick<TlsPolicies, 'policyFor' | 'demandFor' | 'record'>
  connections: Connections
  signer: Signer
  clock: Clock
  /** Dice: a number in [0, 1). */
  random: () => number
  /** What replies mean. */
  classify: Classify
  options: AttemptOptions
}

export interface AttemptOptions {
  /** EHLO name, where a source has none of its own. */
  hostname: string
  /** Port of the mail exchangers. */
  port: number
  /** Networks that may be delivered to although they are private or otherwise special, or this machine's own. */
  allowNetworks: readonly Cidr[]
  /** Addresses of this machine's interfaces. */
  ownAddresses: () => readonly string[]
  /** Domains of test addresses, in lower case: nobody is dialled for them. */
  testDomains?: readonly string[] | undefined
  /** Shown to `settle`. */
  owner: string
}

/** What came of a batch: what `settle` is to write, and what goes back to the spool as if it had never been taken. */
export interface Tried {
  settle: SettleArgs | null
  giveBack: { deliveryIds: string[]; dueAt: number | undefined } | null
  /** To be told that all of it is stored, or cannot be; until then its lane counts it. True when the lane waited for that. */
  settled: () => boolean
}

/** What the steps of an attempt share. */
interface Run {
  deps: AttemptDeps
  batch: LeasedDelivery[]
  recorder: Recorder
  startedAt: number
  /** Why it began later than it was due. */
  waited: Waited | undefined
  /** The provider that the domain was found to be with. */
  provider: string
  /** Of the message, once it is signed. */
  signatures?: SigningIdentity[]
}

/**
 * Tries to deliver a batch: finds the way, asks the lane, signs, converses, judges.
 * @param placed told when the batch no longer waits for its lane
 */
export async function attempt(
  batch: LeasedDelivery[],
  deps: AttemptDeps,
  placed: () => void = () => undefined,
): Promise<Tried> {
  const startedAt = deps.clock.now()
  const { domain, pool, provider } = batch[0]!
  const recorder = createRecorder(deps.clock, startedAt)
  const waited = deps.lanes.whyLate(batch[0]!)
  const run: Run = { deps, batch, recorder, startedAt, waited, provider }
  if (deps.options.testDomains?.includes(domain)) return onlySettle(rehearsed(run))

  const way = await findWay(run)
  if (way.kind === 'failed') return onlySettle(settlement(run, nothing(batch, way.failure)))
  run.provider = deps.lanes.providerOf(way.best)
  if (run.provider !== provider) await place(domain, run)

  const ask: Ask = {
    pool,
    provider: run.provider,
    recipients: recipientsOf(batch).length,
    families: familiesOf(way),
  }
  const { permit, ready } = await admitted(ask, way, run, placed)
  if (permit.kind !== 'permit')
    return onlyGiveBack(back(batch, permit.kind === 'full' ? permit.retryAt : null))

  let walked: Walked | undefined
  try {
    const prepared = await (ready ?? prepare(way, run))
    if (prepared.letter.kind === 'signed') run.signatures = prepared.letter.signatures
    walked = await send(way, permit, prepared, run)
  } finally {
    // Whatever happened to us: the permit must come back.
    permit.release(walked ? signalsOf(walked.seen, run.provider, deps.classify) : [])
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

const onlySettle = (settle: SettleArgs): Tried => ({ settle, giveBack: null, settled: () => false })
const onlyGiveBack = (giveBack: Tried['giveBack']): Tried => ({
  settle: null,
  giveBack,
  settled: () => false,
})

/**
 * Asks the lane. What was leased ahead of a free connection makes the message ready while it waits for one; what was leased for another
 * destination and turns out to go here does not wait: nobody counted on it.
 */
async function admitted(
  ask: Ask,
  way: Route & { kind: 'found' },
  run: Run,
  placed: () => void,
): Promise<{ permit: Admission; ready?: Promise<Ready> }> {
  const { lanes } = run.deps
  const permit = lanes.admit(ask)
  if (permit.kind !== 'busy' || run.provider !== run.batch[0]!.provider) {
    placed()
    return { permit }
  }
  const ready = prepare(way, run)
  // Whoever gets the permit awaits it and hears of its failure; where there is none, nobody needs it.
  ready.catch(() => undefined)
  const later = await lanes.wait(ask)
  placed()
  return { permit: later, ready }
}

const recipientsOf = (batch: readonly LeasedDelivery[]): string[] => [
  ...new Set(batch.map(({ recipient }) => recipient)),
]

const back = (batch: readonly LeasedDelivery[], dueAt: number | null): Tried['giveBack'] => ({
  deliveryIds: batch.map(({ id }) => id),
  dueAt: dueAt ?? undefined,
})

/** The hosts of the domain, and their addresses that some source of the pool can dial. */
function findWay({ deps, batch, recorder }: Run): Promise<Route> {
  const { lanes, resolver, random, options, storage, clock } = deps
  const { domain, pool } = batch[0]!
  const { hostname, allowNetworks, ownAddresses } = options
  const sources = { reaches: (ip: string) => lanes.reaches(pool, isIP(ip) as Family) }
  const receives = async (name: string): Promise<boolean> =>
    (await storage.findReceivers({ name }, clock.now())).length > 0
  const where = { hostname, allowNetworks, ownAddresses, sources, receives }
  return route(domain, recorder, { resolver, random, ...where })
}

function familiesOf({ hosts }: Route & { kind: 'found' }): Family[] {
  return [...new Set(hosts.flatMap(({ addresses }) => addresses.map((ip) => isIP(ip) as Family)))]
}

/** Remembers where a domain's mail goes; what else waits for it moves there too. */
async function place(domain: string, { deps, provider }: Run): Promise<void> {
  const { storage, clock } = deps
  await every((after) => storage.place({ domain, provider, after }, clock.now()))
}

/** What is needed beside a connection. */
interface Ready {
  policy: DomainPolicy
  letter: Awaited<ReturnType<typeof signed>>
}

/** Asks what the domain demands of TLS, and signs. */
async function prepare(way: Route & { kind: 'found' }, { deps, batch }: Run): Promise<Ready> {
  const [policy, letter] = await Promise.all([
    deps.policies.policyFor(batch[0]!.domain, way.authentic),
    signed(batch[0]!, deps),
  ])
  return { policy, letter }
}

/** Walks from host to host. Recipients whom neither the permit nor the lane's pace leaves room for have no fate. */
async function send(
  way: Route & { kind: 'found' },
  permit: Permit,
  { policy, letter }: Ready,
  { deps, batch, recorder }: Run,
): Promise<Walked> {
  if (letter.kind === 'failed') return nothing(batch, letter.failure)
  const { connections, clock, policies, options } = deps
  const { hostname, port } = options
  const until = steady(clock) + ATTEMPT_DEADLINE
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
  return walkAll(letter, recipientsOf(batch).slice(0, permit.recipients), way.hosts, how)
}

/** What the sender said of reports; the message's part is the same for the whole batch. */
function requestsOf(batch: readonly LeasedDelivery[]): Requests {
  const { ret, envid } = batch[0]!.dsn
  return { ret, envid, of: new Map(batch.map(({ recipient, dsn }) => [recipient, dsn])) }
}

/** Nobody was talked to, so no lane learns of it. */
function nothing(batch: readonly LeasedDelivery[], failure: Failure): Walked {
  const outcome = new Map(
    recipientsOf(batch).map((one): [string, Fate] => [one, { kind: 'failed', failure }]),
  )
  return { outcome, tls: null, seen: [] }
}

/** What storage is to write of a batch to test addresses. */
function rehearsed(run: Run): SettleArgs {
  const { batch, deps } = run
  const now = deps.clock.now()
  const { transcript, changes } = emulate(batch, deps.options.testDomains ?? [], now)
  return written(run, transcript, changes, now)
}

/** What storage is to write. */
function settlement(run: Run, { outcome, tls }: Result, source?: string): SettleArgs {
  const { deps, batch, recorder, provider } = run
  const { clock, random, classify } = deps
  const now = clock.now()
  // One throw of the dice for all: what is deferred together is retried together, in one transaction (RFC 5321 §4.5.4.1).
  const bench = { classify, alone: outcome.size === 1, random: random() }
  const changes = batch.map((delivery) => {
    const verdict = judge(outcome.get(delivery.recipient)!, { ...delivery, provider }, now, bench)
    return changeFor(delivery, verdict, now)
  })
  const { host, ip } = lastReached(outcome)
  const transcript = { steps: recorder.steps, host, ip, tls, ...(source !== undefined && { source }) }
  return written(run, transcript, changes, now)
}

function written(
  { deps, batch, startedAt, waited, signatures }: Run,
  transcript: Transcript,
  changes: Change[],
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

/** The host whose word counted: of an accepted recipient where there is one. */
function lastReached(outcome: Outcome): { host: string | null; ip: string | null } {
  const fates = [...outcome.values()]
  const fate: Fate = fates.find(({ kind }) => kind === 'accepted') ?? fates[0]!
  return fate.kind === 'accepted' ? fate : fate.failure
}
