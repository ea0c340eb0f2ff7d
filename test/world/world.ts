import {
  startZoneServer,
  type Zone,
  type ZoneFailure,
  type ZoneRecords,
  type ZoneServer,
} from '../../appliance/sandbox/zone.ts'
import { freeAddress, likelyFreePort } from './addresses.ts'
import { createTestClock, type TestClock } from './clock.ts'
import { startExchanger, type Exchanger, type ExchangerOptions } from './exchanger.ts'
import type { Mailbox } from './mailbox.ts'
import { startScripted, type ScriptedServer, type ScriptStep } from './scripted.ts'

/** A fake internet on loopback: DNS, mail exchangers and a clock, created from one description. */

/** A host and the server at its address. By default, an exchanger that accepts everything in plain text. */
export interface WorldHost extends Pick<ExchangerOptions, 'tls' | 'behave' | 'smtp'> {
  /** Runs a server that follows a script, instead of an exchanger. */
  script?: ScriptStep[] | ((connection: number) => ScriptStep[])
  /** Nothing listens: connections are refused. */
  down?: true
  /** The number of dead addresses listed before the working one. */
  deadAddresses?: number
  /** Makes the lookup of its address fail this way. */
  dns?: ZoneFailure
}

/** A recipient domain. */
export interface WorldDomain {
  mx?: { preference: number; host: string; exchanger?: WorldHost }[]
  /** Publishes a null MX: the domain accepts no mail (RFC 7505). */
  nullMx?: true
  /** No MX record, only an address: the domain itself is the exchanger (RFC 5321 §5.1). */
  implicit?: WorldHost
  /** Makes every lookup of the domain itself fail this way. */
  dns?: ZoneFailure
  /** Additional records of the domain. */
  records?: ZoneRecords
}

export interface WorldOptions {
  domains: Record<string, WorldDomain>
  /** Additional names of the zone. */
  names?: Zone
  /**
   * The DNS server's port; default a free one. Programs look for authoritative servers on port 53, which needs root.
   */
  dnsPort?: number
}

export interface World {
  /** For `dns.servers`. */
  readonly dnsServers: string[]
  /** For the resolver's `authoritativePort`: the same server is authoritative for everything. */
  readonly authoritativePort: number
  /** For `delivery.port`. */
  readonly deliveryPort: number
  /** For `delivery.allow_networks`. */
  readonly allowNetworks: string[]
  readonly clock: TestClock
  /** Changes names, and shows which queries arrived. */
  readonly dns: ZoneServer
  /** These throw if the host isn't described or is of the other kind. */
  exchanger(host: string): Exchanger
  scripted(host: string): ScriptedServer
  mailboxOf(host: string): Mailbox
  close(): Promise<void>
}

type Running = Map<string, { exchanger?: Exchanger; scripted?: ScriptedServer }>

const NAME_SERVER = 'ns.world.test'
const MAX_PORT_TRIES = 5

/** Starts everything described in `options`. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const hosts = collectHosts(options.domains)
  const addresses = new Map([...hosts].map(([name, host]) => [name, giveAddresses(host)]))
  const address = freeAddress()
  const zone = { ...describeZone(options.domains, hosts, addresses), ...options.names }
  const nameServer = { host: NAME_SERVER, address }
  const dns = await startZoneServer({ zone, address, port: options.dnsPort ?? 0, nameServer })
  const { port, running } = await startHosts(hosts, addresses).catch(async (error: unknown) => {
    await dns.close()
    throw error
  })
  const host = (name: string) => {
    const found = running.get(name)
    if (!found) throw new Error(`the world has no host ${name} that is up`)
    return found
  }
  const exchanger = (name: string) => need(host(name).exchanger, `${name} is scripted`)
  return {
    dnsServers: [`${dns.address}:${dns.port}`],
    authoritativePort: dns.port,
    deliveryPort: port,
    allowNetworks: ['127.0.0.0/8'],
    clock: createTestClock(),
    dns,
    exchanger,
    scripted: (name) => need(host(name).scripted, `${name} is an exchanger, not scripted`),
    mailboxOf: (name) => exchanger(name).mailbox,
    async close() {
      await Promise.all([dns.close(), stopHosts(running)])
    },
  }
}

function need<T>(value: T | undefined, why: string): T {
  if (value === undefined) throw new Error(why)
  return value
}

/** Returns all hosts by name. If several domains share a host, the entry with an `exchanger` describes it. */
function collectHosts(domains: Record<string, WorldDomain>): Map<string, WorldHost> {
  const hosts = new Map<string, WorldHost>()
  for (const [name, domain] of Object.entries(domains)) {
    if (domain.implicit) hosts.set(name, domain.implicit)
    for (const { host, exchanger } of domain.mx ?? []) {
      if (exchanger || !hosts.has(host)) hosts.set(host, exchanger ?? {})
    }
  }
  return hosts
}

/** Assigns addresses; the last one works. */
function giveAddresses(host: WorldHost): string[] {
  return Array.from({ length: 1 + (host.deadAddresses ?? 0) }, freeAddress)
}

function describeZone(
  domains: Record<string, WorldDomain>,
  hosts: Map<string, WorldHost>,
  addresses: Map<string, string[]>,
): Zone {
  const zone: Zone = {}
  for (const [name, host] of hosts) zone[name] = host.dns ?? { A: addresses.get(name)! }
  for (const [name, domain] of Object.entries(domains)) {
    if (domain.dns) zone[name] = domain.dns
    if (typeof zone[name] === 'string') continue
    const mx = domain.mx?.map(({ preference, host: exchange }) => ({ preference, exchange }))
    const MX = domain.nullMx ? [{ preference: 0, exchange: '' }] : (mx ?? [])
    zone[name] = { ...zone[name], MX, ...domain.records }
  }
  return zone
}

/**
 * Starts all hosts on one port, because `delivery.port` is a single number. If the port is in use anywhere, tries
 * another.
 */
async function startHosts(
  hosts: Map<string, WorldHost>,
  addresses: Map<string, string[]>,
): Promise<{ port: number; running: Running }> {
  for (let attempt = 1; ; attempt++) {
    const port = likelyFreePort()
    const running: Running = new Map()
    try {
      for (const [name, host] of hosts) {
        const address = addresses.get(name)!.at(-1)!
        if (!host.down && !host.dns) running.set(name, await startHost(name, host, address, port))
      }
      return { port, running }
    } catch (error) {
      await stopHosts(running)
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempt === MAX_PORT_TRIES) throw error
    }
  }
}

async function startHost(name: string, host: WorldHost, address: string, port: number) {
  const { script } = host
  if (script) return { scripted: await startScripted({ address, port, script }) }
  return { exchanger: await startExchanger({ ...host, name, address, port }) }
}

async function stopHosts(running: Running): Promise<void> {
  for (const { exchanger, scripted } of running.values()) await (exchanger ?? scripted)?.close()
}
