import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Domain } from '../../appliance/api/domains.ts'
import type { TlsPolicy } from '../../appliance/api/tls.ts'
import { DnsClient } from '../../appliance/dns/client.ts'
import { parseServer } from '../../appliance/dns/servers.ts'
import { parseNetworks } from '../../appliance/wire/networks.ts'
import { freeAddress, likelyFreePort } from '../world/addresses.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createCertificates, type Made } from '../world/certificates.ts'
import { PATIENCE } from '../world/patience.ts'
import { createWorld, type World } from '../world/world.ts'

/** A daemon publishes the MTA-STS policy of a delegated subdomain, and our own MTA-STS client accepts it. */

const APEX = 'send.acme.test'
const HOST = `mta-sts.${APEX}`
const DAY = 86_400_000
const address = freeAddress()
const port = likelyFreePort()
const client = new DnsClient({ timeoutMs: 5000 })

let folder: string
let ca: Made
let world: World
let appliance: TestAppliance

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-mta-sts-'))
  const certificates = await createCertificates()
  ca = await certificates.make({ name: 'CA', ca: true, days: 365 })
  const save = async (host: string) => {
    const made = await certificates.make({ name: host, hosts: [host], by: ca })
    const files = { cert: join(folder, `${host}.pem`), key: join(folder, `${host}.key`) }
    await writeFile(files.cert, made.cert)
    await writeFile(files.key, made.key)
    return files
  }
  const own = await save('mail.sender.test')
  const additional = [await save(HOST)]
  await certificates.close()
  world = await createWorld({ domains: {} })
  appliance = await startAppliance({
    world,
    config: {
      nameserver: {
        zone: 'keys.dns.mail.sender.test',
        listen: [`${freeAddress()}:0`],
        names: [],
        rotate_days: 90,
      },
      tls: { ...own, additional },
      http: { listen: ['127.0.0.1:0'], tls_listen: [`${address}:${port}`] } as never,
      // It has nothing to do here: all names have certificate files.
      acme: {
        agree_terms: true,
        directory: 'https://127.0.0.1:1/directory',
        challenge: 'tls-alpn-01',
        names: [],
        tracking_hosts: false,
        http_listen: [],
        hook_seconds: 1,
      },
    },
    policyHosts: { port, ca: ca.cert, allowNetworks: parseNetworks(['127.0.0.0/8']) },
  })
})

afterAll(async () => {
  client.close()
  await appliance.close()
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

/** Asks the daemon's DNS server for a TXT record. */
async function record(): Promise<string | undefined> {
  const servers = [parseServer(appliance.appliance.dns[0]!)]
  const answer = await client.ask(servers, { name: `_mta-sts.${APEX}`, type: 'TXT' }, { recursion: false })
  return answer.kind === 'found' ? answer.records[0] : undefined
}

/** Moves time until the DNS server, which reads the zones now and then, answers something else. */
const recordAfter = (before: string | undefined): Promise<string> =>
  vi.waitUntil(
    async () => {
      await world.clock.advance(3_600_000)
      const now = await record()
      return now !== before && now
    },
    { timeout: PATIENCE },
  )

/** Fetches the policy file with a Host header. */
function fetchFrom(host: string): Promise<{ status: number; type: string | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const path = '/.well-known/mta-sts.txt'
    const to = { host: address, port, path, servername: HOST, headers: { host }, ca: ca.cert, agent: false }
    const asked = request(to, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      const { statusCode: status, headers } = response
      response.on('end', () => resolve({ status: status!, type: headers['content-type'], text }))
    })
    asked.on('error', reject).end()
  })
}

const policy = async () => (await appliance.call<TlsPolicy>('GET', `/tls/policies/${APEX}`)).body.mta_sts

test('the MTA-STS policy is enforced until shortly before the certificate expires, and our client accepts it', async () => {
  expect((await fetchFrom(HOST)).status).toBe(404)
  const added = await appliance.call<Domain>('POST', '/domains', { name: 'acme.test', delegation: 'ns' })
  expect(added.body.recommended_records).toContainEqual(
    expect.objectContaining({ record: 'MTA-STS', type: 'CNAME', fqdn: HOST, served: true }),
  )
  const first = await recordAfter(undefined)
  expect(first).toMatch(/^v=STSv1; id=[0-9a-f]{32};$/)
  const served = await fetchFrom(HOST)
  expect(served).toMatchObject({ status: 200, type: 'text/plain; charset=utf-8' })
  expect(served.text).toBe('version: STSv1\r\nmode: enforce\r\nmx: mail.sender.test\r\nmax_age: 604800\r\n')
  for (const other of ['mail.sender.test', 'mta-sts.acme.test', 'mta-sts.other.test'])
    expect((await fetchFrom(other)).status).toBe(404)

  world.dns.set(APEX, { MX: [{ preference: 10, exchange: 'mail.sender.test' }] })
  world.dns.set(HOST, { A: address })
  world.dns.set(`_mta-sts.${APEX}`, { TXT: first })
  const id = /id=(\w+)/.exec(first)![1]
  expect(await policy()).toMatchObject({ mode: 'enforce', id, mx: ['mail.sender.test'] })

  // The certificates are for 30 days.
  await world.clock.advance(24 * DAY)
  const second = await recordAfter(first)
  expect((await fetchFrom(HOST)).text).toContain('mode: testing\r\n')
  expect(second).toMatch(/^v=STSv1; id=[0-9a-f]{32};$/)
  // Without a certificate for the host of the policy, there is none.
  await world.clock.advance(7 * DAY)
  await vi.waitUntil(
    async () => {
      await world.clock.advance(3_600_000)
      return (await record()) === undefined
    },
    { timeout: PATIENCE },
  )
  expect((await fetchFrom(HOST)).status).toBe(404)
})
