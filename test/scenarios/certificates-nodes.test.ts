import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compose, type RunningDaemon } from '../../appliance/compose.ts'
import type { Config } from '../../appliance/config/config.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { freeAddress } from '../world/addresses.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startAuthority, type Authority } from '../world/authority.ts'
import { PATIENCE } from '../world/patience.ts'
import { createWorld, type World } from '../world/world.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/** Nodes with automatic certificates. Only one is reachable for the authority: another than the one that requests. */

let cluster: Cluster
let world: World
let authority: Authority
let folder: string
let first: TestAppliance
const others: RunningDaemon[] = []
const host = freeAddress()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-acme-nodes-'))
  ;[cluster, world, authority] = await Promise.all([
    startCluster(findPostgresPrograms(), { safe: true }),
    createWorld({ domains: {} }),
    startAuthority(),
  ])
  const url = await cluster.createDatabase()
  first = await startAppliance({
    world,
    config: {
      storage: { engine: 'postgres', url } as Config['storage'],
      delivery: { source_ips: ['127.0.0.8'] } as Config['delivery'],
      http: {
        listen: [`${authority.address}:5080`],
        tls_listen: [`${host}:0`],
      } as unknown as Config['http'],
      acme: {
        agree_terms: true,
        directory: authority.directory,
        ca: authority.caFile,
        challenge: 'http-01',
        names: [],
        tracking_hosts: true,
        http_listen: [],
        hook_seconds: 60,
      },
    },
  })
}, PATIENCE)

afterAll(async () => {
  await Promise.all(others.map((one) => one.stop()))
  await first?.close()
  await authority?.close()
  await world?.close()
  await cluster?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Starts another node, whose listeners the authority doesn't know unless HTTPS is on a given port. */
async function startAnother(
  name: string,
  hostname: string,
  { challenge = 'http-01', port }: { challenge?: Config['acme']['challenge']; port?: number } = {},
): Promise<RunningDaemon> {
  const { config } = first
  const secure = port === undefined ? `${host}:0` : `${authority.address}:${port}`
  const node = await compose(
    {
      ...config,
      hostname,
      data_dir: join(folder, name),
      secrets: { ...config.secrets, master_key_file: join(config.data_dir, 'master.key') },
      delivery: { ...config.delivery, source_ips: ['127.0.0.9'] },
      http: { ...config.http, listen: ['127.0.0.1:0'], tls_listen: [secure] },
      acme: { ...config.acme, challenge },
    },
    {
      log: createSilentLogger(),
      clock: world.clock,
      resolver: { authoritativePort: world.authoritativePort },
    },
  )
  others.push(node)
  return node
}

/** Returns the certificate that a node presents for a name, as issuer and serial number. */
async function shown(node: RunningDaemon, servername: string): Promise<{ issuer: string; serial: string }> {
  const url = new URL(node.http.find((one) => one.startsWith('https:'))!)
  const socket = connect({
    host: url.hostname,
    port: Number(url.port),
    servername,
    rejectUnauthorized: false,
  })
  await once(socket, 'secureConnect')
  const { issuer, serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return { issuer: String(issuer.CN), serial: serialNumber }
}

const issued = { issuer: expect.stringMatching(/^Pebble Intermediate/) as string }
const eventually = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 100 })

test('the certificate that one node gets is used by the others', { timeout: 2 * PATIENCE }, async () => {
  await eventually(() => shown(first.appliance, 'mail.sender.test')).toMatchObject(issued)
  const { serial } = await shown(first.appliance, 'mail.sender.test')
  const second = await startAnother('second', 'mail.sender.test')
  // It is there from the start, without another order.
  expect(await shown(second, 'mail.sender.test')).toMatchObject({ ...issued, serial })
  await second.stop()
})

test('any node answers the challenge of another one', { timeout: 2 * PATIENCE }, async () => {
  const third = await startAnother('third', 'mail2.sender.test')
  await eventually(() => shown(third, 'mail2.sender.test')).toMatchObject(issued)
  const response = await fetch(`${first.url}/.well-known/acme-challenge/${'a'.repeat(43)}`)
  expect(response.status).toBe(404)
  expect(await first.appliance.storage.listSecrets({ folder: 'acme/challenges' }, Date.now())).toEqual([])
})

test('any node answers the TLS challenge of another one', { timeout: 2 * PATIENCE }, async () => {
  // The authority only reaches the fourth node, which has nothing to request.
  await startAnother('fourth', 'mail.sender.test', { challenge: 'tls-alpn-01', port: 5443 })
  const fifth = await startAnother('fifth', 'mail3.sender.test', { challenge: 'tls-alpn-01' })
  await eventually(() => shown(fifth, 'mail3.sender.test')).toMatchObject(issued)
  const validation = connect({
    host: authority.address,
    port: 5443,
    servername: 'mail4.sender.test',
    ALPNProtocols: ['acme-tls/1'],
    rejectUnauthorized: false,
  })
  await expect(once(validation, 'secureConnect')).rejects.toThrow()
  expect(await first.appliance.storage.listSecrets({ folder: 'acme/challenges' }, Date.now())).toEqual([])
})

test('account keys and private keys in the database are encrypted', async () => {
  const url = new URL(first.config.storage.url!)
  const sql = "select name, encode(value, 'escape') from secrets where name like 'acme/%' order by name;"
  const stored = await cluster.run([`\\c ${url.pathname.slice(1)}\n${sql}`])
  expect(stored[0]!.output).toMatch(/acme\/accounts\/[0-9a-f]{16}\|sealed:/)
  expect(stored[0]!.output).toMatch(/acme\/certificates\/mail2\.sender\.test\|sealed:/)
  expect(stored[0]!.output).not.toContain('PRIVATE KEY')
})
