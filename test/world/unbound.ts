import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createResolver } from '../../appliance/dns/resolver.ts'
import { likelyFreePort } from './addresses.ts'
import { createTestClock } from './clock.ts'
import { PATIENCE } from './patience.ts'

/** A real unbound that resolves names itself, as receivers' resolvers do. */
export interface Unbound {
  /** For `dns.servers`. */
  readonly server: string
  readonly port: number
  close(): Promise<void>
}

export interface UnboundOptions {
  /** The zones of other owners, with their records in zone file format, without SOA and NS. */
  zones: Record<string, string[]>
  /** Zones delegated to an authoritative server, `ip:port`. */
  delegated: { server: string; names: string[] }
  /** A name to wait for, and its type. */
  until: { name: string; type: 'TXT' | 'A' }
}

/**
 * Starts unbound with the settings that find most faults of authoritative servers: minimized names (RFC 9156), random case,
 * and nothing below a name that doesn't exist (RFC 8020).
 */
export async function startUnbound({ zones, delegated, until }: UnboundOptions): Promise<Unbound> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-unbound-'))
  for (const [name, records] of Object.entries(zones)) {
    const start = [`$ORIGIN ${name}.`, '$TTL 300', `@ IN SOA ns.${name}. root.${name}. 1 3600 600 86400 60`]
    await writeFile(join(folder, name), [...start, `@ IN NS ns.${name}.`, ...records, ''].join('\n'))
  }
  await writeFile(join(folder, 'root'), '. 300 IN NS root.test.\nroot.test. 300 IN A 127.255.255.254\n')
  const port = likelyFreePort()
  const nameserver = delegated.server.replace(/:(\d+)$/, '@$1')
  const lines = [
    'server:',
    `directory: "${folder}"`,
    'username: ""',
    'chroot: ""',
    `pidfile: "${folder}/pid"`,
    `interface: 127.0.0.1@${port}`,
    'do-daemonize: no',
    'use-syslog: no',
    'num-threads: 1',
    'do-not-query-localhost: no',
    'local-zone: "test." nodefault',
    'module-config: "iterator"',
    'qname-minimisation: yes',
    'qname-minimisation-strict: yes',
    'use-caps-for-id: yes',
    'harden-below-nxdomain: yes',
    'harden-referral-path: no',
    `root-hints: "${folder}/root"`,
    ...Object.keys(zones).flatMap((name) => [
      'auth-zone:',
      `name: "${name}"`,
      `zonefile: "${join(folder, name)}"`,
      'for-downstream: no',
      'for-upstream: yes',
      'fallback-enabled: no',
    ]),
    ...delegated.names.flatMap((name) => ['stub-zone:', `name: "${name}"`, `stub-addr: ${nameserver}`]),
    'remote-control:',
    'control-enable: no',
  ]
  await writeFile(join(folder, 'unbound.conf'), `${lines.join('\n')}\n`)
  const child = spawn('unbound', ['-d', '-c', join(folder, 'unbound.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const server = `127.0.0.1:${port}`
  const end = Date.now() + PATIENCE
  for (;;) {
    const resolver = createResolver({ servers: [server], clock: createTestClock(), timeoutMs: 500 })
    const answer = await resolver.resolve(until.name, until.type)
    resolver.close()
    if (answer.kind === 'found') break
    if (child.exitCode !== null || Date.now() > end)
      throw new Error(`unbound does not answer (${JSON.stringify(answer)}): ${said}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    server,
    port,
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
