/** Runs the daemon as in production, with DNS and an account, for benchmarks of the whole path. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createAccounts } from '../../appliance/accounts/accounts.ts'
import { openResolver } from '../../appliance/assembly/adapters.ts'
import { openStorage } from '../../appliance/assembly/storage.ts'
import { systemClock as clock } from '../../appliance/clock/clock.ts'
import { loadConfig, SHIPPED_PROVIDERS } from '../../appliance/config/config.ts'
import { startZoneServer } from '../../appliance/sandbox/zone.ts'
import { createSenders } from '../../appliance/senders/senders.ts'
import { freeAddress, likelyFreePort } from '../../test/world/addresses.ts'

/** The sender's and recipient's domain. */
export const SENDER_DOMAIN = 'acme.example'
export const RECIPIENT_DOMAIN = 'customer.example'

/** Files and addresses that the daemon needs. */
export interface DaemonHome {
  configFile: string
  /** The trusted listener, as `host:port`. */
  smtp: string
  /** The REST API's origin. */
  url: string
  apiKey: string
  close(): Promise<void>
}

/**
 * Creates a data directory, team, verified domain with a 2048-bit RSA key, API key, DNS and configuration.
 * @param exchanger receives mail to `RECIPIENT_DOMAIN`
 * @param others addresses of other domains' exchangers, by domain; all listen on the same port
 * @param database connection string of an empty PostgreSQL database; SQLite if omitted
 */
export async function createDaemonHome(
  folder: string,
  exchanger: { address: string; port: number },
  others: ReadonlyMap<string, string> = new Map(),
  database?: string,
): Promise<DaemonHome> {
  const addresses = new Map([...others, [RECIPIENT_DOMAIN, exchanger.address]])
  const dns = await startZoneServer({
    zone(name) {
      if (addresses.has(name)) return Promise.resolve({ MX: { preference: 10, exchange: `mx.${name}` } })
      const address = name.startsWith('mx.') ? addresses.get(name.slice(3)) : undefined
      return Promise.resolve(address === undefined ? 'NXDOMAIN' : { A: address })
    },
  })
  await mkdir(join(folder, 'data'), { mode: 0o700 })
  const providers = join(folder, 'providers.toml')
  // Lifts the rate limits, because they must not affect the measurement.
  const shipped = await readFile(SHIPPED_PROVIDERS, 'utf8')
  await writeFile(providers, shipped.replace('messages_per_minute = 6000', 'messages_per_minute = 600000'))
  const configFile = join(folder, 'posthaste.toml')
  const [http, smtp] = [freeAddress(), freeAddress()].map((address) => `${address}:${likelyFreePort()}`)
  const settings = `hostname = "mail.${SENDER_DOMAIN}"
data_dir = "${join(folder, 'data')}"
[http]
listen = ["${http}"]
[dns]
servers = ["${dns.address}:${dns.port}"]
[delivery]
port = ${exchanger.port}
allow_networks = ["127.0.0.0/8"]
providers = "${providers}"
[limits]
rate_per_second = 1000000
[smtp]
starttls = []
implicit_tls = []
${database === undefined ? '' : `[storage]\nengine = "postgres"\nurl = "${database}"\n`}`
  await writeFile(configFile, settings)
  const key = await makeAccount(configFile)
  const trusted = `[[smtp.trusted]]\nlisten = "${smtp}"\nnetworks = ["127.0.0.0/8"]\napi_key_id = "${key.id}"\n`
  await writeFile(configFile, settings + trusted)
  const url = `http://${http}`
  return { configFile, smtp: smtp!, url, apiKey: key.token, close: () => dns.close() }
}

async function makeAccount(configFile: string): Promise<{ id: string; token: string }> {
  const loaded = loadConfig({ file: configFile, env: {} })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  await using opened = new AsyncDisposableStack()
  const storage = await openStorage(loaded.config)
  opened.defer(() => storage.close())
  const resolver = openResolver(loaded.config, clock, {})
  opened.defer(() => resolver.close())
  const host = { hostname: loaded.config.hostname, sourceIps: [] }
  const senders = createSenders({ storage, resolver, clock, config: host })
  opened.defer(() => senders.close())
  const owner = { email: `owner@${SENDER_DOMAIN}`, password: 'a quiet harbour at dusk', teamName: 'Acme' }
  const { team } = await createAccounts({ storage, clock }).createOwner(owner)
  const { id } = await senders.addDomain({ teamId: team.id, name: SENDER_DOMAIN })
  await storage.saveDomainCheck({ teamId: team.id, id, status: 'verified', checks: [] }, clock.now())
  const made = await senders.createKey({ teamId: team.id, name: 'bench', permission: 'full_access' })
  return { id: made.key.id, token: made.token }
}

/** A daemon that accepts mail. */
export interface RunningDaemon {
  pid: number
  /** Time from the start of the process until its last listener responds, in milliseconds. */
  startMs: number
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** As in scripts/runtime.sh. */
const FLAGS = ['--max-semi-space-size=16']
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2' }
const PROGRAM = join(import.meta.dirname, '..', '..', '.program', 'main.js')

/**
 * Starts `posthaste serve` and logs to a file, as a supervisor would.
 * @param env variables in addition to those of this process
 */
export async function startDaemon(
  folder: string,
  { configFile }: DaemonHome,
  env: Record<string, string> = {},
): Promise<RunningDaemon> {
  const file = join(folder, 'log')
  const log = await open(file, 'w')
  const begin = performance.now()
  const child = spawn(process.execPath, [...FLAGS, PROGRAM, 'serve', '--config', configFile], {
    stdio: ['ignore', log.fd, log.fd],
    env: { ...process.env, ...ENVIRONMENT, ...env },
  })
  await log.close()
  const ended = once(child, 'exit')
  while (!(await readFile(file, 'utf8')).includes('"msg":"started"')) {
    if (child.exitCode !== null) throw new Error(await readFile(file, 'utf8'))
    await new Promise((resolve) => setTimeout(resolve, 3))
  }
  const startMs = performance.now() - begin
  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    child.kill(signal)
    await ended
  }
  return { pid: child.pid!, startMs, stop }
}
