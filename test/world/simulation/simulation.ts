import Database from 'better-sqlite3'
import { join } from 'node:path'
import { newId } from '../../../appliance/mail/ids.ts'
import { startZoneServer, type Zone } from '../../../appliance/sandbox/zone.ts'
import { loadConfig, type Config } from '../../../appliance/config/config.ts'
import { freeAddress } from '../addresses.ts'
import { publishAndVerify, startAppliance, type TestAppliance } from '../appliance.ts'
import type { World } from '../world.ts'
import { createSimulationClock, Driver, type SimulationClock } from './clock.ts'
import { logLanes, type LaneSample } from './lane-log.ts'
import { shippedProviders } from './limits.ts'
import { PERSONALITIES } from './personalities.ts'
import { domainsOf } from './personality.ts'
import type { PlannedEmail } from './plan.ts'
import { exchangers, startReceivers, type Receivers } from './receivers.ts'
import { SharedTime } from './time.ts'
import { watchWork } from './work.ts'

/** The whole appliance in the simulated internet, with several teams. */
export interface Simulation {
  readonly appliance: TestAppliance
  readonly clock: SimulationClock
  readonly driver: Driver
  readonly receivers: Receivers
  /** The first source IP is new: its warm-up starts with the simulation. */
  readonly sourceIps: readonly string[]
  /** Sends emails to the API, 100 per request. Rejects unless all are accepted. */
  accept(emails: readonly PlannedEmail[]): Promise<void>
  /** Runs until the queue is empty. Rejects after `patience` real milliseconds. */
  finish(patience: number): Promise<void>
  /** All saved lane states, sorted by time. */
  readonly lanes: readonly LaneSample[]
  /** Returns the spool's record of each recipient. */
  outcomes(): Outcome[]
  close(): Promise<void>
}

/** The final state of a delivery in the spool. Times are Unix milliseconds of the simulation. */
export interface Outcome {
  recipient: string
  state: string
  attempts: number
  createdAt: number
  updatedAt: number
  /** JSON. */
  cause: string
}

export interface SimulationOptions {
  teams: number
  /** Number of local addresses to send from. */
  sources: number
}

const HOUR = 3_600_000
const NAME_SERVER = 'ns.simulation.test'
const BATCH = 100
/** Number of concurrent requests. */
const REQUESTS = 4
/** Timers within one second fire together. */
const GRAIN = 1000

/** Starts everything. The clock runs in real time until `finish`. */
export async function startSimulation({ teams, sources }: SimulationOptions): Promise<Simulation> {
  await using started = new AsyncDisposableStack()
  const time = new SharedTime()
  const receivers = await startReceivers(time)
  started.defer(() => receivers.close())
  const clock = createSimulationClock(time, { onMove: () => receivers.moved() })
  const sourceIps = Array.from({ length: sources }, freeAddress)
  const address = freeAddress()
  const zone = { ...receivers.zone, ...reverse(sourceIps) }
  const dns = await startZoneServer({ zone, address, nameServer: { host: NAME_SERVER, address } })
  started.defer(() => dns.close())
  const noHost = (): never => {
    throw new Error('the hosts of a simulation are in its receivers')
  }
  const world: World = {
    dnsServers: [`${dns.address}:${dns.port}`],
    authoritativePort: dns.port,
    deliveryPort: receivers.port,
    allowNetworks: ['127.0.0.0/8'],
    clock,
    dns,
    exchanger: noHost,
    scripted: noHost,
    mailboxOf: noHost,
    close: async () => undefined,
  }
  const appliance = await startAppliance({ world, config: config(sourceIps, world) })
  started.defer(() => appliance.close())
  const now = clock.now()
  const { storage } = appliance.appliance
  // Alert emails would be deliveries that the campaign doesn't have.
  await storage.setAlertSettings({ teamId: appliance.teamId, settings: { email: false, muted: [] } }, now)
  await storage.saveSource({ ip: sourceIps[0]!, change: { warmUpSince: now } }, now)
  const database = new Database(join(appliance.config.data_dir, 'posthaste.db'), { readonly: true })
  started.defer(() => void database.close())
  const senders = await makeTeams(appliance, world, teams)
  mendLater(clock, world)

  const providers = shippedProviders()
  const lanes = logLanes(storage, (id) => providers.get(id).limits)
  const work = watchWork(storage)
  const driver = new Driver({ clock, work, receiversReady: () => receivers.ready(), grain: GRAIN })
  const waits = database.prepare('select 1 from deliveries where expires_at is not null limit 1')
  const outcomes = database.prepare<[], Outcome>(
    `select recipient, state, attempts, created_at as createdAt, updated_at as updatedAt, cause from deliveries`,
  )
  const running = started.move()
  return {
    appliance,
    clock,
    driver,
    receivers,
    sourceIps,
    lanes,
    accept: (emails) => accept(emails, senders, appliance.url),
    finish: (patience) => driver.run(() => waits.get() === undefined, patience),
    outcomes: () => outcomes.all(),
    close: () => running.disposeAsync(),
  }
}

/** Reverse DNS of the sources: names that resolve back to them. */
function reverse(ips: readonly string[]): Zone {
  const names = ips.map((ip, at): [string, string] => [ip, `out${at + 1}.sender.test`])
  const zone: Zone = {}
  for (const [ip, name] of names) {
    zone[`${ip.split('.').reverse().join('.')}.in-addr.arpa`] = { PTR: name }
    zone[name] = { A: ip }
  }
  return zone
}

function config(sourceIps: readonly string[], world: World): Partial<Config> {
  const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.sender.test' }, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  const { delivery } = loaded.config
  return {
    delivery: {
      ...delivery,
      port: world.deliveryPort,
      allow_networks: world.allowNetworks,
      source_ips: [...sourceIps],
      max_connections: 200,
    },
  }
}

/** A team's API key and the address it sends from. */
interface Sender {
  apiKey: string
  from: string
}

/** Creates further teams, each with a domain and an API key like the first team's. */
async function makeTeams(appliance: TestAppliance, world: World, count: number): Promise<Sender[]> {
  const made: Sender[] = [{ apiKey: appliance.apiKey, from: `Team 1 <hello@${appliance.domain}>` }]
  const { senders } = appliance.appliance
  const database = new Database(join(appliance.config.data_dir, 'posthaste.db'), { timeout: 10_000 })
  for (let number = 2; number <= count; number++) {
    const now = world.clock.now()
    const teamId = newId(now)
    // There is no public function yet to create a second team.
    database
      .prepare('insert into teams (id, name, created_at) values (?, ?, ?)')
      .run(teamId, `Team ${number}`, now)
    const name = `team${number}.test`
    await senders.addDomain({ teamId, name })
    await publishAndVerify(appliance.appliance, world, teamId, name)
    const { token } = await senders.createKey({ teamId, name: 'campaign' })
    made.push({ apiKey: token, from: `Team ${number} <hello@${name}>` })
  }
  database.close()
  return made
}

/** Repairs, after a while, the zones whose lookups fail at first. */
function mendLater(clock: SimulationClock, world: World): void {
  const broken = PERSONALITIES.filter(({ dns }) => dns === 'servfail-first')
  clock.after(HOUR, () => {
    for (const personality of broken) {
      for (const domain of domainsOf(personality)) world.dns.set(domain, exchangers(personality, domain))
    }
  })
}

const TEXT = 'This is one of very many messages, and nobody will ever read it.\n'.repeat(12)

function bodyOf({ to, stream }: PlannedEmail, { from }: Sender, number: number) {
  return {
    from,
    to,
    subject: `Message ${number}`,
    text: TEXT,
    headers: { 'X-Posthaste-Stream': stream },
  }
}

async function accept(emails: readonly PlannedEmail[], senders: Sender[], url: string): Promise<void> {
  const requests: { when: number; sender: Sender; body: string }[] = []
  for (const [team, sender] of senders.entries()) {
    const bodies = emails.filter((email) => email.team === team).map((email, n) => bodyOf(email, sender, n))
    for (let at = 0; at < bodies.length; at += BATCH)
      requests.push({ when: at / bodies.length, sender, body: JSON.stringify(bodies.slice(at, at + BATCH)) })
  }
  // Mixes the teams' mail from the first request to the last. Otherwise the largest team would get the most turns just
  // by arriving first.
  requests.sort((a, b) => b.when - a.when)
  const work = async (): Promise<void> => {
    for (let next = requests.pop(); next; next = requests.pop()) await post(url, next.sender, next.body)
  }
  await Promise.all(Array.from({ length: REQUESTS }, work))
}

async function post(url: string, { apiKey }: Sender, body: string): Promise<void> {
  const response = await fetch(`${url}/emails/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body,
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`POST /emails/batch answered ${response.status}: ${text}`)
}
