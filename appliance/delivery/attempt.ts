/**
 * One attempt: the page to read first. All deliveries of a batch belong to one email and to one recipient domain.
 *
 * What the internet does is a value here, never an exception; only the storage may reject, and then nothing was tried.
 */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { newId } from '../mail/ids.ts'
import type { TlsInfo } from '../mail/transcript.ts'
import type { Signer } from '../signing/signing.ts'
import type { LeasedDelivery, SettleArgs, Storage } from '../storage/storage.ts'
import type { Cidr } from '../wire/networks.ts'
import { changeFor } from './changes.ts'
import { converse } from './converse.ts'
import { ATTEMPT_DEADLINE } from './deadlines.ts'
import type { Requests } from './extensions.ts'
import type { Host } from './hosts.ts'
import { judge } from './judge.ts'
import { type Letter, signed } from './letter.ts'
import { carriesOn, moreTelling } from './next-host.ts'
import type { Failure, Fate, Outcome } from './outcome.ts'
import { createRecorder, type Recorder } from './recorder.ts'
import { route } from './route.ts'
import { createSources, type Sources } from './sources.ts'

export interface AttemptDeps {
  storage: Pick<Storage, 'getMessage' | 'getDomain' | 'signingKeys'>
  resolver: Pick<Resolver, 'resolve'>
  signer: Signer
  clock: Clock
  /** Dice: a number in [0, 1). */
  random: () => number
  options: AttemptOptions
}

export interface AttemptOptions {
  /** EHLO name. */
  hostname: string
  /** Port of the mail exchangers. */
  port: number
  /** Local addresses to send from; none lets the system choose. */
  sourceIps: readonly string[]
  /** Networks that may be delivered to although they are private. */
  allowNetworks: readonly Cidr[]
  /** Shown to `settle`. */
  owner: string
  /** Whether IPv6 works where the system chooses the source; by default, whether the machine has a global address. */
  ipv6?: boolean
}

/** What the steps of an attempt share. */
interface Run {
  deps: AttemptDeps
  recorder: Recorder
  sources: Sources
  requests: Requests
  /** When the attempt must be over, Unix milliseconds. */
  until: number
}

/** Tries to deliver a batch; returns what `settle` is to write. */
export async function attempt(batch: LeasedDelivery[], deps: AttemptDeps): Promise<SettleArgs> {
  const { clock, random, options } = deps
  const startedAt = clock.now()
  const run: Run = {
    deps,
    recorder: createRecorder(clock, startedAt),
    sources: createSources(options.sourceIps, options.ipv6),
    requests: requestsOf(batch),
    until: startedAt + ATTEMPT_DEADLINE,
  }
  const first = batch[0]!
  const recipients = [...new Set(batch.map((delivery) => delivery.recipient))]

  const letter = await signed(first, deps)
  const result =
    letter.kind === 'failed' ? nothing(recipients, letter.failure) : await send(letter, recipients, run)

  const now = clock.now()
  const changes = batch.map((delivery) => {
    const verdict = judge(result.outcome.get(delivery.recipient)!, delivery, now, random())
    return changeFor(delivery, verdict, now)
  })
  const { host, ip } = lastReached(result.outcome)
  return {
    owner: options.owner,
    attempt: {
      id: newId(startedAt),
      teamId: first.teamId,
      emailId: first.emailId,
      deliveryIds: batch.map((delivery) => delivery.id),
      startedAt,
      endedAt: now,
      transcript: { steps: run.recorder.steps, host, ip, tls: result.tls },
    },
    changes,
  }
}

/** What the sender said of reports; the message's part is the same for the whole batch. */
function requestsOf(batch: LeasedDelivery[]): Requests {
  const { ret, envid } = batch[0]!.dsn
  return { ret, envid, of: new Map(batch.map(({ recipient, dsn }) => [recipient, dsn])) }
}

interface Result {
  outcome: Outcome
  /** TLS of the last conversation. */
  tls: TlsInfo | null
}

function nothing(recipients: string[], failure: Failure): Result {
  return { outcome: new Map(recipients.map((one) => [one, { kind: 'failed', failure }])), tls: null }
}

/** Finds the way, then walks it. */
async function send(letter: Letter, recipients: string[], run: Run): Promise<Result> {
  const { sources, deps } = run
  const { resolver, random } = deps
  const { hostname, allowNetworks } = deps.options
  const domain = recipients[0]!.slice(recipients[0]!.lastIndexOf('@') + 1).toLowerCase()
  const way = await route(domain, run.recorder, { resolver, random, hostname, allowNetworks, sources })
  if (way.kind === 'failed') return nothing(recipients, way.failure)
  return walk(letter, recipients, way.hosts, run)
}

/** Tries address after address until each recipient has an answer that counts (RFC 5321 §5.1). */
async function walk(letter: Letter, recipients: string[], hosts: Host[], run: Run): Promise<Result> {
  const { clock, random, options } = run.deps
  const outcome: Outcome = new Map()
  let left = recipients
  let tls: TlsInfo | null = null
  for (const { host, ip } of hosts.flatMap(({ name, addresses }) =>
    addresses.map((ip) => ({ host: name, ip })),
  )) {
    if (left.length === 0 || (outcome.size > 0 && clock.now() >= run.until)) break
    const { hostname, port } = options
    const localAddress = run.sources.pick(ip, random)
    const { until, requests } = run
    const call = { host, ip, port, localAddress, hostname, until, requests }
    const said = await converse({ ...call, ...letter, recipients: left }, run.recorder, clock)
    tls = said.tls
    for (const [recipient, fate] of said.outcome)
      outcome.set(recipient, moreTelling(outcome.get(recipient), fate))
    left = left.filter((recipient) => carriesOn(said.outcome.get(recipient)!))
  }
  return { outcome, tls }
}

/** The host whose word counted: of an accepted recipient where there is one. */
function lastReached(outcome: Outcome): { host: string | null; ip: string | null } {
  const fates = [...outcome.values()]
  const fate: Fate = fates.find(({ kind }) => kind === 'accepted') ?? fates[0]!
  return fate.kind === 'accepted' ? fate : fate.failure
}
