import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createResolver } from '../../appliance/dns/resolver.ts'
import { likelyFreePort } from './addresses.ts'
import { createTestClock } from './clock.ts'
import { PATIENCE } from './patience.ts'

const execute = promisify(execFile)

/** A DNSSEC-signed zone, served and validated by a real unbound. */
export interface Dnssec {
  /** For `dns.servers`. */
  readonly server: string
  close(): Promise<void>
}

export interface DnssecOptions {
  /** The name of the signed zone; below `test`. */
  zone: string
  /** Its records in zone file format, without SOA and NS. */
  records: string[]
  /** Modifies the signed zone before it is served, to make signatures bogus. */
  forge?: (signed: string) => string
  /** Additional unsigned zones. */
  unsigned?: Record<string, string[]>
  /** Names to forward, with everything below them, to another server (`ip:port`). */
  elsewhere?: { server: string; names: string[] }
}

const START = (zone: string): string[] => [
  `$ORIGIN ${zone}.`,
  '$TTL 300',
  `@ IN SOA ns.${zone}. hostmaster.${zone}. 1 3600 600 86400 60`,
  `@ IN NS ns.${zone}.`,
  'ns IN A 127.0.0.1',
]

/** Signs the zone and starts unbound on a loopback address. */
export async function startDnssec(options: DnssecOptions): Promise<Dnssec> {
  const { zone, unsigned = {}, elsewhere } = options
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-dnssec-'))
  const anchor = await sign(folder, options)
  const zones = [{ name: zone, file: join(folder, `${zone}.signed`) }]
  for (const [name, records] of Object.entries(unsigned)) {
    const file = join(folder, name)
    await writeFile(file, [...START(name), ...records, ''].join('\n'))
    zones.push({ name, file })
  }
  // A root hint where nothing listens: a name that is neither served nor forwarded fails at once.
  await writeFile(join(folder, 'root'), '. 300 IN NS root.test.\nroot.test. 300 IN A 127.255.255.254\n')
  const port = likelyFreePort()
  const at = '127.0.0.1'
  const lines = [
    'server:',
    `directory: "${folder}"`,
    'username: ""',
    'chroot: ""',
    `pidfile: "${folder}/pid"`,
    `interface: ${at}@${port}`,
    'do-daemonize: no',
    'use-syslog: no',
    'num-threads: 1',
    'do-not-query-localhost: no',
    'local-zone: "test." nodefault',
    'module-config: "validator iterator"',
    `trust-anchor-file: "${anchor}"`,
    `root-hints: "${folder}/root"`,
    ...zones.flatMap(({ name, file }) => [
      'auth-zone:',
      `name: "${name}"`,
      `zonefile: "${file}"`,
      'for-downstream: no',
      'for-upstream: yes',
      'fallback-enabled: no',
    ]),
    // Forwards names, not the root: a forwarded root would take precedence over the zones served here.
    ...(elsewhere?.names ?? []).flatMap((name) => [
      'forward-zone:',
      `name: "${name}"`,
      `forward-addr: ${elsewhere!.server.replace(':', '@')}`,
    ]),
    'remote-control:',
    'control-enable: no',
  ]
  await writeFile(join(folder, 'unbound.conf'), `${lines.join('\n')}\n`)
  const child = spawn('unbound', ['-d', '-c', join(folder, 'unbound.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await answers(`${at}:${port}`, zone, child, () => said)
  return {
    server: `${at}:${port}`,
    async close() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null) {
        child.kill()
        await ended
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Signs the zone. Returns the trust anchor file. */
async function sign(folder: string, { zone, records, forge }: DnssecOptions): Promise<string> {
  await writeFile(join(folder, zone), [...START(zone), ...records, ''].join('\n'))
  const { stdout } = await execute('ldns-keygen', ['-a', 'ECDSAP256SHA256', '-k', zone], { cwd: folder })
  const key = stdout.trim()
  await execute('ldns-signzone', [zone, key], { cwd: folder })
  const file = join(folder, `${zone}.signed`)
  if (forge) await writeFile(file, forge(await readFile(file, 'utf8')))
  return join(folder, `${key}.key`)
}

/** Waits until the zone validates. */
async function answers(server: string, zone: string, child: ChildProcess, said: () => string): Promise<void> {
  const end = Date.now() + PATIENCE
  for (;;) {
    const resolver = createResolver({ servers: [server], clock: createTestClock(), timeoutMs: 500 })
    const answer = await resolver.resolve(`ns.${zone}`, 'A')
    resolver.close()
    if (answer.kind === 'found' && answer.authentic) return
    if (child.exitCode !== null || Date.now() > end)
      throw new Error(`unbound does not answer (${JSON.stringify(answer)}): ${said()}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
