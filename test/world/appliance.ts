import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../appliance/clock/clock.ts'
import { compose, type RunningDaemon, type ComposeOptions } from '../../appliance/compose.ts'
import { loadConfig, type Config } from '../../appliance/config/config.ts'
import { createLogger, createSilentLogger, type Logger } from '../../appliance/watch/log.ts'
import type { Timeline } from '../../appliance/api/timeline.ts'
import { storageSettings } from './engine.ts'
import { PATIENCE } from './patience.ts'
import type { World } from './world.ts'

/** The whole appliance with a team, a verified domain and an API key, connected to a world or running as a sandbox. */
export interface TestAppliance {
  readonly appliance: RunningDaemon
  readonly config: Config
  readonly url: string
  readonly teamId: string
  readonly domain: string
  readonly ownerEmail: string
  readonly ownerPassword: string
  readonly apiKey: string
  /** Makes a request with the API key; `body` is sent as JSON. */
  call<T = unknown>(method: string, path: string, body?: unknown): Promise<{ status: number; body: T }>
  /** Sends an email from the domain, with defaults for missing fields. Returns its ID. */
  send(email: Record<string, unknown>): Promise<string>
  timeline(id: string): Promise<Timeline>
  /** Polls the timeline until it satisfies `enough`. On timeout, fails with the last timeline. */
  until(id: string, enough: (timeline: Timeline) => boolean): Promise<Timeline>
  /** Stops the appliance, runs `meanwhile`, and starts it again on the same data directory. */
  restart(meanwhile?: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

export interface TestApplianceOptions {
  world?: World
  /** Additional configuration keys, by section. */
  config?: Partial<Config>
  /** A folder with a dashboard build to serve instead of `ui/dist`. */
  dashboard?: string
  /** The clock of a sandbox. A world brings its own. */
  clock?: Clock
  /** Hosts that serve MTA-STS policies. */
  policyHosts?: ComposeOptions['policyHosts']
  /** How often to look for changes by other processes, in milliseconds. */
  pollMs?: number
  /** Where the appliance logs to. By default, the log is discarded. */
  log?: Logger
}

const OWNER = { email: 'owner@sender.test', password: 'a long password for tests' }

/** Reports whether every delivery is in a final state. */
export const isFinal = (timeline: Timeline): boolean =>
  timeline.deliveries.every(({ state }) => state !== 'waiting' && state !== 'held')

function configFor(dataDir: string, { world, config }: TestApplianceOptions): Config {
  const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.sender.test' }, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  const base = loaded.config
  return {
    ...base,
    ...config,
    data_dir: dataDir,
    // Hundreds of appliances share this disk, so none needs a reserve.
    storage: { ...base.storage, reserve_mb: 0, ...config?.storage },
    http: { ...base.http, listen: ['127.0.0.1:0'], ...config?.http },
    smtp: { ...base.smtp, starttls: [], implicit_tls: [], ...config?.smtp },
    inbound: { ...base.inbound, ...config?.inbound },
    dns: { ...base.dns, servers: world?.dnsServers ?? [], ...config?.dns },
    delivery: {
      ...base.delivery,
      allow_networks: ['127.0.0.0/8'],
      ...(world ? { port: world.deliveryPort } : {}),
      ...config?.delivery,
    },
    // Tests make requests faster than apps do, on a clock that only moves when told to.
    limits: { ...base.limits, rate_per_second: 1_000_000, ...config?.limits },
  }
}

/** Publishes the domain's records in the world's DNS and verifies the domain. */
export async function publishAndVerify(
  appliance: RunningDaemon,
  world: World,
  teamId: string,
  name: string,
): Promise<void> {
  const domain = (await appliance.senders.findDomain({ teamId, name }))!
  const records = await appliance.senders.expectedRecords(domain)
  for (const fqdn of new Set(records.map((record) => record.fqdn))) {
    const here = records.filter((record) => record.fqdn === fqdn)
    world.dns.set(fqdn, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: here
        .filter(({ type }) => type === 'MX')
        .map(({ value, priority }) => ({ preference: priority!, exchange: value })),
    })
  }
  await appliance.senders.verifyDomain({ teamId, id: domain.id })
}

/** Creates a team, owner, domain and API key the same way the command line does. */
async function setUp(appliance: RunningDaemon, world: World): Promise<{ teamId: string; apiKey: string }> {
  const { team } = await appliance.accounts.createOwner({ ...OWNER, teamName: 'Test' })
  await appliance.senders.addDomain({ teamId: team.id, name: 'sender.test' })
  world.dns.set('mail.sender.test', { A: '127.0.0.1' })
  await publishAndVerify(appliance, world, team.id, 'sender.test')
  const { token } = await appliance.senders.createKey({
    teamId: team.id,
    name: 'test',
    permission: 'full_access',
  })
  return { teamId: team.id, apiKey: token }
}

export async function startAppliance(options: TestApplianceOptions = {}): Promise<TestAppliance> {
  const { world } = options
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-test-'))
  const base = configFor(dataDir, options)
  const storage = await storageSettings(dataDir, options.config?.storage ?? {})
  const config: Config = { ...base, storage: { ...base.storage, ...storage } }
  const log = options.log ?? (process.env.TEST_LOG ? createLogger('debug') : createSilentLogger())
  const start = (): Promise<RunningDaemon> =>
    compose(config, {
      log,
      sandbox: !world,
      ...(options.dashboard ? { dashboard: options.dashboard } : {}),
      ...(options.clock ? { clock: options.clock } : {}),
      ...(options.policyHosts ? { policyHosts: options.policyHosts } : {}),
      // With a short interval, advancing the clock by days would stop at every second.
      pollMs: options.pollMs ?? (world ? 3_600_000 : 1000),
      ...(world ? { clock: world.clock, resolver: { authoritativePort: world.authoritativePort } } : {}),
    })
  let appliance = await start()
  const seed = appliance.sandbox?.seed
  const made = seed ?? { ...(await setUp(appliance, world!)), domain: 'sender.test', ...OWNER }

  const call = async <T>(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: T }> => {
    const response = await fetch(`${appliance.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${made.apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as T }
  }
  const timeline = async (id: string): Promise<Timeline> =>
    (await call<Timeline>('GET', `/emails/${id}/timeline`)).body

  return {
    get appliance() {
      return appliance
    },
    config,
    get url() {
      return appliance.url
    },
    teamId: made.teamId,
    domain: made.domain,
    ownerEmail: made.email,
    ownerPassword: made.password,
    apiKey: made.apiKey,
    call,
    async send(email) {
      const { status, body } = await call<{ id: string }>('POST', '/emails', {
        from: `Sender <hello@${made.domain}>`,
        subject: 'Subject',
        text: 'Text',
        ...email,
      })
      if (status !== 200) throw new Error(`POST /emails answered ${status}: ${JSON.stringify(body)}`)
      return body.id
    },
    timeline,
    async until(id, enough) {
      const end = Date.now() + PATIENCE
      for (;;) {
        const seen = await timeline(id)
        if (enough(seen)) return seen
        if (Date.now() > end) throw new Error(`not to be waited for: ${JSON.stringify(seen, null, 1)}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async restart(meanwhile) {
      await appliance.stop()
      await meanwhile?.()
      appliance = await start()
    },
    async close() {
      await appliance.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
