/** The daemon under attack: a separate process with the shipped limits and three teams, in a simulated internet. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createAccounts } from '../../appliance/accounts/accounts.ts'
import { openResolver } from '../../appliance/assembly/adapters.ts'
import { openStorage } from '../../appliance/assembly/storage.ts'
import { systemClock as clock } from '../../appliance/clock/clock.ts'
import { loadConfig, SHIPPED_PROVIDERS } from '../../appliance/config/config.ts'
import { startZoneServer } from '../../appliance/sandbox/zone.ts'
import { createSenders } from '../../appliance/senders/senders.ts'
import { freeAddress, likelyFreePort } from '../../test/world/addresses.ts'

/** The recipient domain of the attack test. */
export const RECIPIENT_DOMAIN = 'customer.example'

/** The receiving domain, which belongs to the normal client's team. */
export const RECEIVING_DOMAIN = 'inbox.example'

/** A team with a verified domain. */
export interface Team {
  domain: string
  /** The token of an API key with full access. */
  key: string
  keyId: string
}

/** The daemon's addresses, and the teams that may send through it. */
export interface Target {
  host: string
  /** Listener ports. `trusted` requires no sign-in and is reserved for the first attacker. */
  http: number
  https: number
  metrics: number
  starttls: number
  mx: number
  implicit: number
  trusted: number
  /** The normal client's team. */
  customer: Team
  /** One team per attacker. */
  attackers: [Team, Team]
}

/** A running target. */
export interface RunningTarget extends AsyncDisposable {
  target: Target
  pid: number
  /** Returns the exit code or signal once the daemon has ended; null while it runs. */
  ended(): string | null
  /** Returns the longest turn of the daemon's event loop since the last call, in milliseconds of CPU time. */
  longestTurn(): number
  /** Returns the daemon's log. */
  log(): Promise<string>
}

export interface TargetOptions {
  /** The working folder; the caller removes its contents. */
  folder: string
  /**
   * Whether to lift the request rate limit and reduce logging, so that fuzzed requests are processed and a million of
   * them don't fill the log.
   */
  forFuzzing: boolean
}

const PROGRAM = join(import.meta.dirname, '..', '..', '.program', 'main.js')
/**
 * Memory limits of Node. The young generation is as in scripts/runtime.sh. The old generation has the size that Node
 * chooses under the unit's MemoryMax=3G: half of that.
 */
const FLAGS = ['--max-semi-space-size=16', '--max-old-space-size=1536']
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2' }
const START_MS = 60_000
const STOP_MS = 30_000

/** Creates accounts and configuration in the folder, and starts the daemon. */
export async function startTarget(options: TargetOptions): Promise<RunningTarget> {
  const opened = new AsyncDisposableStack()
  try {
    const exchanger = await startSink(opened)
    const dns = await startZoneServer({ zone: (name) => Promise.resolve(zoneEntry(name, exchanger.address)) })
    opened.defer(() => dns.close())
    const { target, configFile } = await configure(options, exchanger.port, `${dns.address}:${dns.port}`)
    const daemon = await startDaemon(options.folder, configFile, target)
    opened.defer(daemon.stop)
    return { target, ...daemon, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

function zoneEntry(name: string, exchanger: string) {
  if (name === RECIPIENT_DOMAIN) return { MX: { preference: 10, exchange: `mx.${RECIPIENT_DOMAIN}` } }
  return name === `mx.${RECIPIENT_DOMAIN}` ? { A: exchanger } : 'NXDOMAIN'
}

/** Starts a mail exchanger that accepts everything and stores nothing. */
async function startSink(opened: AsyncDisposableStack): Promise<{ address: string; port: number }> {
  const server = createServer({ noDelay: true }, (socket) => {
    let [rest, inData] = ['', false]
    socket.on('error', () => socket.destroy())
    socket.write('220 sink ESMTP\r\n')
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop()!
      for (const line of lines) {
        if (inData && line !== '.') continue
        const verb = line.slice(0, 4).toUpperCase()
        if (verb === 'QUIT') socket.end('221 Bye\r\n')
        else if (verb === 'EHLO') socket.write('250-sink\r\n250 PIPELINING\r\n')
        else socket.write(verb === 'DATA' ? '354 Go ahead\r\n' : '250 OK\r\n')
        inData = verb === 'DATA'
      }
    })
  })
  server.listen(0, freeAddress())
  await once(server, 'listening')
  opened.defer(() => void server.close())
  return server.address() as AddressInfo
}

async function configure(
  { folder, forFuzzing }: TargetOptions,
  deliveryPort: number,
  dns: string,
): Promise<{ target: Target; configFile: string }> {
  await mkdir(join(folder, 'data'), { mode: 0o700 })
  const host = freeAddress()
  const first = likelyFreePort()
  const [http, https, metrics, starttls, implicit, trusted, mx] = [0, 1, 2, 3, 4, 5, 6].map(
    (n) => first + n,
  ) as [number, number, number, number, number, number, number]
  const configFile = join(folder, 'posthaste.toml')
  const providers = join(folder, 'providers.toml')
  // A fuzzed daemon must deliver accepted mail within minutes, so that its idle memory can be measured.
  const shipped = await readFile(SHIPPED_PROVIDERS, 'utf8')
  await writeFile(providers, shipped.replace('messages_per_minute = 6000', 'messages_per_minute = 600000'))
  const settings = `hostname = "mail.sender.example"
data_dir = ${JSON.stringify(join(folder, 'data'))}
[http]
listen = ["${host}:${http}"]
tls_listen = ["${host}:${https}"]
[metrics]
listen = ["${host}:${metrics}"]
[dns]
servers = ["${dns}"]
[delivery]
port = ${deliveryPort}
allow_networks = ["127.0.0.0/8"]
${forFuzzing ? `providers = ${JSON.stringify(providers)}\n[limits]\nrate_per_second = 1000000\n[log]\nlevel = "warn"\n` : ''}[smtp]
starttls = ["${host}:${starttls}", "${host}:${mx}"]
mx_port = ${mx}
implicit_tls = ["${host}:${implicit}"]
`
  await writeFile(configFile, settings)
  const [customer, one, two] = await makeTeams(configFile)
  const listener = `[[smtp.trusted]]\nlisten = "${host}:${trusted}"\nnetworks = ["127.0.0.0/8"]\napi_key_id = "${one.keyId}"\n`
  await writeFile(configFile, settings + listener)
  const ports = { http, https, metrics, starttls, mx, implicit, trusted }
  return { configFile, target: { host, ...ports, customer, attackers: [one, two] } }
}

/** Creates the customer's team, and one for each attacker. */
async function makeTeams(configFile: string): Promise<[Team, Team, Team]> {
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
  const accounts = createAccounts({ storage, clock })
  const owner = { email: 'owner@customer.test', password: crypto.randomUUID(), teamName: 'Customer' }
  const { team: first, user } = await accounts.createOwner(owner)
  const addDomain = async (teamId: string, name: string, receiving = false): Promise<void> => {
    const { id } = await senders.addDomain({ teamId, name })
    if (receiving) await senders.updateDomain({ teamId, id, settings: { receiving } })
    await storage.saveDomainCheck({ teamId, id, status: 'verified', checks: [] }, clock.now())
  }
  await addDomain(first.id, RECEIVING_DOMAIN, true)
  const make = async (teamId: string, domain: string): Promise<Team> => {
    await addDomain(teamId, domain)
    const { key, token } = await senders.createKey({ teamId, name: 'attack test', permission: 'full_access' })
    return { domain, key: token, keyId: key.id }
  }
  const further = async (name: string) => (await accounts.teams.createTeam({ name, ownerId: user.id })).id
  return [
    await make(first.id, 'sender.example'),
    await make(await further('First attacker'), 'one.example'),
    await make(await further('Second attacker'), 'two.example'),
  ]
}

/** Whether the daemon is ready; false if it doesn't respond yet. */
async function takesMail(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => null)
  await response?.arrayBuffer()
  return response?.ok ?? false
}

async function startDaemon(folder: string, configFile: string, { host, metrics }: Target) {
  const file = join(folder, 'log')
  const log = await open(file, 'w')
  const probe = new URL('loop-probe.mjs', import.meta.url).href
  const child = spawn(
    process.execPath,
    [...FLAGS, `--import=${probe}`, PROGRAM, 'serve', '--config', configFile],
    {
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
      env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, ...ENVIRONMENT },
    },
  )
  await log.close()
  let longest = 0
  child.on('message', (turn: number) => void (longest = Math.max(longest, turn)))
  const ended = once(child, 'exit')
  const late = performance.now() + START_MS
  while (!(await takesMail(`http://${host}:${metrics}/readyz`))) {
    if (child.exitCode !== null || performance.now() > late) {
      child.kill('SIGKILL')
      throw new Error(`The daemon did not start: ${await readFile(file, 'utf8')}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    pid: child.pid!,
    ended: () => child.signalCode ?? (child.exitCode === null ? null : `exit code ${child.exitCode}`),
    longestTurn: () => {
      const turn = longest
      longest = 0
      return turn
    },
    log: () => readFile(file, 'utf8'),
    stop: async () => {
      const cut = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      child.kill('SIGTERM')
      await ended
      clearTimeout(cut)
    },
  }
}
