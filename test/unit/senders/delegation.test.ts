import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccounts } from '../../../appliance/accounts/accounts.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { createSenders, type Senders } from '../../../appliance/senders/senders.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Domain, Storage } from '../../../appliance/storage/storage.ts'
import { createWorld, type World } from '../../world/world.ts'

const ZONE = 'dns.mail.sender.test'
const HOUR = 3_600_000
const keygen = async () => ({ privateKey: new Uint8Array([1, 2, 3]), publicKey: 'AQID' })

let world: World
let resolver: ReturnType<typeof createResolver>
let storage: Storage
let senders: Senders
let plain: Senders
let teamId: string

beforeAll(async () => {
  world = await createWorld({ domains: {} })
  const { clock, dnsServers: servers, authoritativePort } = world
  resolver = createResolver({ servers, clock, authoritativePort })
  storage = await openSqlite({ dataDir: mkdtempSync(join(tmpdir(), 'posthaste-delegation-')) })
  world.dns.set('mail.sender.test', { A: world.dns.address })
  const owner = { email: 'owner@sender.test', password: 'a long password', teamName: 'Test' }
  teamId = (await createAccounts({ storage, clock }).createOwner(owner)).team.id
  const config = { hostname: 'mail.sender.test', sourceIps: [] }
  const nameserver = { zone: ZONE, names: ['mail.sender.test'], rotateMs: 90 * 24 * HOUR }
  const deps = { storage, resolver, clock, keygen }
  plain = createSenders({ ...deps, config })
  senders = createSenders({ ...deps, config: { ...config, nameserver } })
})

afterAll(async () => {
  await senders.close()
  await plain.close()
  resolver.close()
  await storage.close()
  await world.close()
})

const selectors = async (domain: Domain) =>
  (await senders.dkimKeys(domain)).map(({ selector, state }) => `${selector} ${state}`)
const set = (domain: Domain, delegation: Domain['delegation'], by = senders) =>
  by.updateDomain({ teamId, id: domain.id, settings: { delegation } })
const current = (domain: Domain) => senders.getDomain({ teamId, id: domain.id })

/** Publishes all records, with each key behind its alias. */
async function publish(domain: Domain): Promise<void> {
  const records = await senders.expectedRecords(await current(domain))
  for (const { fqdn, type, value, behind } of records) {
    if (type === 'CNAME') {
      world.dns.set(fqdn, { CNAME: value })
      world.dns.set(value, { TXT: behind ?? 'v=DKIM1; p=' })
    } else if (type === 'MX') {
      const here = (wanted: string) =>
        records.filter((one) => one.fqdn === fqdn && one.type === wanted).map((one) => one.value)
      const NS = here('NS')
      const MX = [{ preference: 10, exchange: value }]
      world.dns.set(fqdn, { MX, TXT: here('TXT'), ...(NS.length > 0 ? { NS } : {}) })
    } else if (type === 'TXT' && !records.some((one) => one.fqdn === fqdn && one.type === 'MX'))
      world.dns.set(fqdn, { TXT: value })
  }
}

const look = async (domain: Domain) => {
  await publish(domain)
  return senders.verifyDomain({ teamId, id: domain.id })
}

describe('delegation', () => {
  test('delegation is rejected without a DNS server, and for names of the server itself', async () => {
    const domain = await plain.addDomain({ teamId, name: 'plain.test' })
    await expect(set(domain, 'cname', plain)).rejects.toMatchObject({ key: 'invalid_field' })
    await expect(set(domain, 'cname', plain)).rejects.toThrow(/`delegation`.*nameserver\.zone/)
    const add = (name: string, delegation: 'cname' | 'ns', returnPath = 'send') =>
      senders.addDomain({ teamId, name, returnPath, settings: { delegation } })
    await expect(add(`x.${ZONE}`, 'cname')).rejects.toThrow(/own zone/)
    await expect(add('sender.test', 'ns', 'mail')).rejects.toThrow(/names of this server/)
    expect((await current(domain)).delegation).toBe('none')
  })

  test('delegating a new domain replaces its keys, as nothing was signed with them', async () => {
    const domain = await senders.addDomain({ teamId, name: 'new.test' })
    expect(await selectors(domain)).toEqual(['posthaste active', 'posthaste-ed25519 pending'])
    await set(domain, 'cname')
    expect(await selectors(domain)).toEqual(['posthaste1 active', 'posthaste-ed25519-1 pending'])
    expect(await look(domain)).toMatchObject({ status: 'verified' })
    expect(await selectors(domain)).toEqual(['posthaste1 active', 'posthaste-ed25519-1 active'])
  })

  test('delegating a domain that sends keeps the old key until the new one was published for an hour', async () => {
    const domain = await senders.addDomain({ teamId, name: 'sending.test' })
    expect(await look(domain)).toMatchObject({ status: 'verified' })
    await set(domain, 'ns')
    // The owner publishes the records until the subdomain is delegated.
    const { teamId: team, id } = domain
    expect(await senders.verifyDomain({ teamId: team, id })).toMatchObject({
      status: 'verified',
      suspect: null,
    })
    expect(await selectors(domain)).toContain('posthaste1 pending')
    await look(domain)
    expect(await selectors(domain)).toContain('posthaste active')
    await world.clock.advance(HOUR)
    expect(await look(domain)).toMatchObject({ status: 'verified' })
    expect(await selectors(domain)).toEqual([
      'posthaste retiring',
      'posthaste-ed25519 retiring',
      'posthaste1 active',
      'posthaste-ed25519-1 active',
    ])
    await set(domain, 'none')
    const after = await selectors(domain)
    expect(after).toContain('posthaste1 active')
    expect(after.at(-2)).toMatch(/^posthaste-\d{8} pending$/)
  })

  test('rotates on request while a selector is free, and says when the next one will be', async () => {
    const domain = await senders.addDomain({
      teamId,
      name: 'rotated.test',
      settings: { delegation: 'cname' },
    })
    await look(domain)
    const rotate = () => senders.rotateKeys({ teamId, id: domain.id })
    const [rsa] = await rotate()
    expect(rsa).toMatchObject({ selector: 'posthaste2', state: 'pending' })
    expect((await rotate())[0]).toEqual(rsa)
    await world.clock.advance(HOUR)
    await look(domain)
    expect(await selectors(domain)).toContain('posthaste2 active')
    await expect(rotate()).rejects.toMatchObject({ key: 'dkim_selectors_used' })
    await expect(rotate()).rejects.toThrow(/Rotate again after \d{4}-\d\d-\d\d/)
    await world.clock.advance(8 * 24 * HOUR)
    await look(domain)
    expect((await rotate())[0]).toMatchObject({ selector: 'posthaste1', state: 'pending' })
  })

  test('verification fails if an alias leads to no key, or to another key', async () => {
    const domain = await senders.addDomain({ teamId, name: 'broken.test', settings: { delegation: 'cname' } })
    await publish(domain)
    const verify = async () => {
      const { status, checks } = await senders.verifyDomain({ teamId, id: domain.id })
      return [status, checks.find(({ key }) => key === 'DKIM posthaste1')?.note]
    }
    expect(await verify()).toEqual(['verified', null])
    const other = await senders.addDomain({
      teamId,
      name: 'unproven.test',
      settings: { delegation: 'cname' },
    })
    await publish(other)
    const target = `posthaste1.${other.id}.${ZONE}`
    world.dns.set(target, { TXT: 'v=DKIM1; k=rsa; p=' })
    const { status, checks } = await senders.verifyDomain({ teamId, id: other.id })
    expect(status).toBe('pending')
    expect(checks.find(({ key }) => key === 'DKIM posthaste1')).toMatchObject({
      status: 'failed',
      note: expect.stringContaining(`${target} doesn't have the key`) as string,
    })
    // The aliases of a domain with another id prove nothing.
    world.dns.set('posthaste1._domainkey.unproven.test', { CNAME: `posthaste1.${domain.id}.${ZONE}` })
    expect(await senders.verifyDomain({ teamId, id: other.id })).toMatchObject({ status: 'pending' })
  })
})
