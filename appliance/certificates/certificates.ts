/**
 * Obtains, renews and installs certificates from an ACME server without a restart. Failures are remembered and retried
 * later.
 */
import { X509Certificate } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import type { CertificatePair } from '../wire/self-signed.ts'
import {
  createChallenges,
  type ChallengeResponses,
  type Challenges,
  type ChallengeType,
} from './challenges.ts'
import { AcmeProblem, createAcmeClient, type AcmeClient } from './client.ts'
import { createExchange } from './exchange.ts'
import { createHook } from './hook.ts'
import { issueCertificate } from './issue.ts'
import { parseSigningKey } from './jose.ts'
import * as plan from './plan.ts'
import { createSharedChallenges, openSharedStore, type SharedSecrets } from './shared.ts'
import {
  isAsked,
  openCertificateStore,
  takeCertificateRequest,
  type CertificateRequest,
  type StoredCertificate,
  type AcmeState,
  type CertificateStore,
} from './store.ts'

export type { ChallengeResponses } from './challenges.ts'
export type { SharedSecrets } from './shared.ts'
export type { IssuanceState, WantedCertificate } from './plan.ts'
export { getCertificateNames } from './plan.ts'
export {
  storeCertificateRequest,
  getCertificatePath,
  listCertificatePaths,
  readAcmeState,
  type AcmeState,
} from './store.ts'

/** Short names of ACME directories. */
const DIRECTORIES: Readonly<Record<string, string>> = {
  letsencrypt: 'https://acme-v02.api.letsencrypt.org/directory',
  'letsencrypt-staging': 'https://acme-staging-v02.api.letsencrypt.org/directory',
}

export interface AcmeOptions {
  dataDir: string
  /** The directory as configured: a short name or a URL. */
  directory: string
  email: string | undefined
  challenge: ChallengeType
  hook: { file: string; seconds: number } | undefined
  /** External account binding (RFC 8555 §7.3.4). */
  binding: { keyId: string; hmacKey: string } | undefined
  /** CA certificates (PEM) that the ACME server's own certificate is checked against. */
  ca: string | undefined
  /** The User-Agent header. */
  agent: string
  /** How often to check for requests and new names, in milliseconds. Default 5000. */
  pollMs?: number | undefined
}

export interface AcmeDeps {
  clock: Clock
  log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  /** Returns the certificates that should exist. */
  wanted: () => Promise<plan.WantedCertificate[]>
  /** Installs certificates in the listeners. */
  use: (pairs: readonly CertificatePair[]) => void
  random: () => number
  /** What several nodes share; undefined if there is only one. */
  shared?: SharedCertificates | undefined
  options: AcmeOptions
}

/** What several nodes share: secrets in the database, and turns, so that one node at a time makes orders. */
export interface SharedCertificates {
  secrets: SharedSecrets
  turn: {
    /** Takes the turn, or keeps it for another two minutes. Resolves with false while another node has it. */
    take(): Promise<boolean>
    /** Lets other nodes have it. */
    end(): Promise<void>
  }
}

export interface AcmeManager extends ChallengeResponses {
  /** Installs the stored certificates, then begins to manage them. Never rejects because of the ACME server. */
  start(): Promise<void>
  /** Aborts work in progress; resolves when nothing is running. */
  stop(): Promise<void>
}

/** How often to check for new names and requests by operators, in milliseconds. */
const POLL_MS = 5000
/** How often to extend the turn during orders, in milliseconds. */
const EXTEND_MS = 30_000

/** Creates the manager; it makes no request before `start`. */
export function createAcmeManager(deps: AcmeDeps): AcmeManager {
  const { clock, options } = deps
  const stopping = new AbortController()
  const hook = options.hook && createHook(options.hook.file, options.hook.seconds, clock)
  const shared = deps.shared && createSharedChallenges(deps.shared.secrets)
  const challenges = createChallenges({ clock, hook, type: options.challenge, shared })
  const keeper = new Keeper(deps, challenges, stopping.signal)
  let cancel: () => void = () => undefined
  let running = Promise.resolve()
  const next = (): void => {
    cancel = clock.after(options.pollMs ?? POLL_MS, () => {
      running = keeper.look().finally(() => stopping.signal.aborted || next())
    })
  }
  return {
    http: (token) => challenges.http(token),
    tls: (name) => challenges.tls(name),
    expected: () => challenges.expected(),
    async start() {
      await keeper.prepare()
      running = keeper.look().finally(() => stopping.signal.aborted || next())
    },
    async stop() {
      cancel()
      stopping.abort(new Error('The server stops.'))
      await running
    },
  }
}

class Keeper {
  readonly #deps: AcmeDeps
  readonly #challenges: Challenges
  readonly #signal: AbortSignal
  readonly #store: CertificateStore
  readonly #directory: string
  #client: AcmeClient | undefined

  constructor(deps: AcmeDeps, challenges: Challenges, signal: AbortSignal) {
    const { dataDir, directory } = deps.options
    this.#deps = deps
    this.#challenges = challenges
    this.#signal = signal
    this.#store = deps.shared ? openSharedStore(dataDir, deps.shared.secrets) : openCertificateStore(dataDir)
    this.#directory = DIRECTORIES[directory] ?? directory
  }

  /** Installs stored certificates, and gives other nodes those that only this one has. */
  async prepare(): Promise<void> {
    await this.useKept()
    try {
      await this.#inTurn(() => this.#store.adopt())
      await this.#refresh(await this.#deps.wanted())
    } catch (err) {
      // Certificates must not prevent the start. The next round reads them again.
      this.#deps.log.error({ err }, 'could not read the certificates of other nodes')
    }
  }

  /** Handles each certificate that is due, one after the other. Never rejects. */
  async look(): Promise<void> {
    // Fetch the directory again in each round that needs it, because its URLs may have changed (RFC 8555 §7.1.1).
    this.#client = undefined
    try {
      const wanted = await this.#deps.wanted()
      await this.#refresh(wanted)
      if (await this.#isAnyDue(wanted)) await this.#inTurn(() => this.#keepAll(wanted))
    } catch (err) {
      // A disk or storage failure, which is logged in detail where it occurs. The next round retries.
      this.#deps.log.error({ err }, 'could not manage the certificates; check the data directory')
    }
  }

  async #keepAll(wanted: readonly plan.WantedCertificate[]): Promise<void> {
    const asked = await takeCertificateRequest(this.#deps.options.dataDir)
    // Another node may have ended its turn just now.
    await this.#refresh(wanted)
    const memory = await this.#store.memory()
    for (const one of wanted) {
      if (this.#signal.aborted) return
      await this.#keep(one, memory, asked)
    }
    if (!asked) return
    memory.wishDoneAt = this.#deps.clock.now()
    await this.#store.remember(memory)
  }

  /** Does the work if no other node is at it. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    const { shared, clock, log } = this.#deps
    if (!shared) return work()
    if (!(await shared.turn.take())) return
    let cancel: () => void = () => undefined
    const extend = (): void => {
      cancel = clock.after(EXTEND_MS, () => {
        extend()
        // Without the database, the order fails by itself.
        shared.turn
          .take()
          .catch((err: unknown) => log.warn({ err }, 'could not keep other nodes from orders'))
      })
    }
    extend()
    try {
      await work()
    } finally {
      cancel()
      await shared.turn.end()
    }
  }

  /** Installs certificates that other nodes have got. */
  async #refresh(wanted: readonly plan.WantedCertificate[]): Promise<void> {
    if (await this.#store.refresh(wanted.map(({ id }) => id))) await this.useKept()
  }

  /** Whether a certificate may have to be ordered, or an operator has requested one. */
  async #isAnyDue(wanted: readonly plan.WantedCertificate[]): Promise<boolean> {
    if (await isAsked(this.#deps.options.dataDir)) return true
    const memory = await this.#store.memory()
    const now = this.#deps.clock.now()
    if (now < memory.pausedUntil) return false
    for (const one of wanted) {
      const kept = (await this.#store.certificate(one.id))?.certificate
      const tried = plan.dropFutureTimes(memory.certificates[one.id] ?? plan.NEVER_REQUESTED, now)
      const isGood = plan.matchesWanted(one, kept, tried, this.#directory)
      if (isGood && plan.shouldFetchRenewalWindow(kept!, tried, now)) return true
      const isFresh = isGood && plan.isTooNewToRenew(kept!, tried, now)
      if (!isFresh && plan.computeRequestTime(one, kept, tried, this.#directory) <= now) return true
    }
    return false
  }

  /** Installs stored certificates, whether or not the ACME server is available. */
  async useKept(): Promise<void> {
    const { wanted, use, log } = this.#deps
    const kept: StoredCertificate[] = []
    for (const { id } of await wanted()) {
      const one = await this.#store.certificate(id)
      if (one) kept.push(one)
    }
    try {
      use(kept)
    } catch (err) {
      log.error({ err }, 'a certificate from the authority is not usable')
    }
  }

  async #keep(
    wanted: plan.WantedCertificate,
    memory: AcmeState,
    asked: CertificateRequest | undefined,
  ): Promise<void> {
    const { clock } = this.#deps
    const kept = (await this.#store.certificate(wanted.id))?.certificate
    let tried = plan.dropFutureTimes(memory.certificates[wanted.id] ?? plan.NEVER_REQUESTED, clock.now())
    const good = plan.matchesWanted(wanted, kept, tried, this.#directory)
    if (asked) {
      if (good && !asked.all) return
    } else {
      if (clock.now() < memory.pausedUntil) return
      if (good && plan.shouldFetchRenewalWindow(kept!, tried, clock.now())) {
        tried = await this.#askWhen(kept!, tried)
        await this.#remember(memory, wanted.id, tried)
      }
      if (good && plan.isTooNewToRenew(kept!, tried, clock.now())) return
      if (plan.computeRequestTime(wanted, kept, tried, this.#directory) > clock.now()) return
    }
    await this.#get(wanted, memory, tried, good ? kept : undefined)
  }

  /** Asks the ACME server when to renew (RFC 9773 §4.2). Falls back to two thirds of the lifetime. */
  async #askWhen(kept: X509Certificate, tried: plan.IssuanceState): Promise<plan.IssuanceState> {
    const { clock, random, log } = this.#deps
    const id = plan.buildCertificateId(kept)
    try {
      const client = await this.#open()
      const window = id === undefined ? undefined : await client.renewalWindow(id)
      const askAt = clock.now() + plan.computeRenewalWindowTtl(window?.retryAfter ?? 0)
      if (!window) return { ...tried, renewAt: plan.computeDefaultRenewalTime(kept), askAt }
      // Draw the time once per window. Drawing it again each time would move it towards the start of the window.
      const inside = tried.renewAt !== null && tried.renewAt >= window.start && tried.renewAt <= window.end
      const renewAt = inside ? tried.renewAt : plan.pickRenewalTime(window, kept, random())
      return { ...tried, renewAt, askAt }
    } catch (err) {
      if (this.#signal.aborted) return tried
      log.info({ err }, 'the authority does not say when to renew; renewing after two thirds of the lifetime')
      return {
        ...tried,
        renewAt: plan.computeDefaultRenewalTime(kept),
        askAt: clock.now() + plan.computeRenewalWindowTtl(0),
      }
    }
  }

  async #get(
    wanted: plan.WantedCertificate,
    memory: AcmeState,
    tried: plan.IssuanceState,
    replaced: X509Certificate | undefined,
  ): Promise<void> {
    const { clock, log, options } = this.#deps
    const { names } = wanted
    // Record the attempt before making it, because a process that crashes in each attempt must not retry immediately.
    const pending = { ...tried, retryAt: clock.now() + plan.computeRetryDelay(tried.failures + 1, 0, 0) }
    await this.#remember(memory, wanted.id, pending)
    try {
      const client = await this.#open()
      await client.enter({ email: options.email, binding: options.binding })
      const onLeft = (name: string, { message: reason }: Error): void =>
        log.warn({ name, reason }, 'could not remove the validation record of a name; remove it by hand')
      const deps = { client, challenges: this.#challenges, clock, signal: this.#signal, onLeft }
      const replaces = replaced && plan.buildCertificateId(replaced)
      const pair = await issueCertificate({ ...deps, challenge: options.challenge }, wanted, replaces)
      await this.#store.save(wanted.id, pair)
      await this.#succeeded(wanted, memory, pair)
    } catch (error) {
      if (this.#signal.aborted) return this.#remember(memory, wanted.id, tried)
      const failed = this.#failed(memory, tried, error as Error)
      await this.#remember(memory, wanted.id, failed)
      const again = new Date(failed.retryAt).toISOString()
      log.error(
        { names, reason: failed.error, again },
        'could not get a certificate; the previous one stays in use',
      )
    }
  }

  async #succeeded(wanted: plan.WantedCertificate, memory: AcmeState, pair: CertificatePair): Promise<void> {
    const certificate = new X509Certificate(pair.cert)
    const renewAt = plan.computeDefaultRenewalTime(certificate)
    const had = { directory: this.#directory, renewAt, hadAt: this.#deps.clock.now() }
    await this.#remember(memory, wanted.id, { ...plan.NEVER_REQUESTED, ...had })
    await this.useKept()
    this.#deps.log.info({ names: wanted.names, until: certificate.validTo }, 'installed a new certificate')
  }

  #failed(memory: AcmeState, tried: plan.IssuanceState, error: Error): plan.IssuanceState {
    const now = this.#deps.clock.now()
    const problem = error instanceof AcmeProblem ? error : undefined
    const failures = tried.failures + 1
    const retryAt = now + plan.computeRetryDelay(failures, problem?.retryAfter ?? 0, this.#deps.random())
    // A rate limit may apply to the account or the IP, so make no other order before it ends.
    if (problem?.type === 'rateLimited') memory.pausedUntil = Math.max(memory.pausedUntil, retryAt)
    return { ...tried, failures, failedAt: now, error: error.message, retryAt }
  }

  async #remember(memory: AcmeState, id: string, tried: plan.IssuanceState): Promise<void> {
    memory.certificates[id] = tried
    await this.#store.remember(memory)
  }

  async #open(): Promise<AcmeClient> {
    if (this.#client) return this.#client
    const { clock, options } = this.#deps
    const exchange = createExchange({ clock, agent: options.agent, ca: options.ca, signal: this.#signal })
    const key = parseSigningKey(await this.#store.accountKey(this.#directory))
    this.#client = createAcmeClient(exchange, key, this.#directory, () => clock.now())
    return this.#client
  }
}
