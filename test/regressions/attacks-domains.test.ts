import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccounts } from '../../appliance/accounts/accounts.ts'
import { createResolver } from '../../appliance/dns/resolver.ts'
import { newId } from '../../appliance/mail/ids.ts'
import { createSenders, type Senders } from '../../appliance/senders/senders.ts'
import { openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import type { Domain, Storage } from '../../appliance/storage/storage.ts'
import { createWorld, type World } from '../world/world.ts'

let world: World
let storage: Storage
let senders: Senders
let [rightful, squatter] = ['', '']
const dataDir = mkdtempSync(join(tmpdir(), 'posthaste-domains-'))
const closers: (() => unknown)[] = []

beforeAll(async () => {
  world = await createWorld({ domains: {} })
  const { clock, dnsServers: servers, authoritativePort } = world
  const resolver = createResolver({ servers, clock, authoritativePort })
  storage = await openSqlite({ dataDir })
  const accounts = createAccounts({ storage, clock })
  const owner = { email: 'owner@sender.test', password: 'a long password', teamName: 'Rightful' }
  const made = await accounts.createOwner(owner)
  rightful = made.team.id
  const other = { id: newId(clock.now()), name: 'Squatters', createdAt: clock.now() }
  await storage.createTeam({ team: other, ownerId: made.user.id }, clock.now())
  squatter = other.id
  const config = { hostname: 'mail.sender.test', sourceIps: [] }
  // Each key is different, as in production.
  const keygen = async () => ({
    privateKey: new Uint8Array([1]),
    publicKey: randomBytes(32).toString('base64'),
  })
  senders = createSenders({ storage, resolver, clock, config, keygen })
  closers.push(
    () => senders.close(),
    () => resolver.close(),
    () => storage.close(),
    () => world.close(),
  )
})
afterAll(async () => {
  for (const close of closers) await close()
  await rm(dataDir, { recursive: true })
})

/** Publishes the records that a team needs. */
async function publish(domain: Domain): Promise<void> {
  const records = await senders.expectedRecords(domain)
  for (const name of new Set(records.map(({ fqdn }) => fqdn))) {
    const here = records.filter(({ fqdn }) => fqdn === name)
    world.dns.set(name, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: here
        .filter(({ type }) => type === 'MX')
        .map(({ value, priority }) => ({ preference: priority!, exchange: value })),
    })
  }
}

const add = (teamId: string, name: string) => senders.addDomain({ teamId, name })
const verify = ({ teamId, id }: Domain) => senders.verifyDomain({ teamId, id })
const authorize = (teamId: string) =>
  senders.authorize({ teamId, apiKey: null }, { domain: 'shop.test' }).then(
    () => 'allowed',
    ({ key }: { key: string }) => key,
  )
const held = {
  key: 'domain_held',
  message:
    'Another team on this server has verified the shop.test domain. It must remove the domain before you can verify it here.',
}

describe('finding 13: a domain is unique only once verified', () => {
  test("finding 13: an unverified domain doesn't stop its rightful team from adding and verifying it", async () => {
    const squatted = await add(squatter, 'shop.test')
    const ours = await add(rightful, 'shop.test')
    await publish(ours)
    // The records identify the owner, and those are not the other team's.
    expect(await verify(squatted)).toMatchObject({ status: 'pending' })
    expect(await verify(ours)).toMatchObject({ status: 'verified' })
    expect(await authorize(rightful)).toBe('allowed')
    expect(await authorize(squatter)).not.toBe('allowed')

    await expect(verify(squatted)).rejects.toMatchObject(held)
    const later = senders.requestVerification({ teamId: squatter, id: squatted.id })
    await expect(later).rejects.toMatchObject(held)
  })

  test('finding 13: the team that verified a domain keeps it until it removes it', async () => {
    const ours = (await senders.findDomain({ teamId: rightful, name: 'shop.test' }))!
    const theirs = (await senders.findDomain({ teamId: squatter, name: 'shop.test' }))!
    await publish(theirs)
    await expect(verify(theirs)).rejects.toMatchObject(held)
    await senders.removeDomain({ teamId: rightful, id: ours.id })
    expect(await verify(theirs)).toMatchObject({ status: 'verified' })
  })

  test('finding 13: the same team cannot add a name twice', async () => {
    await add(rightful, 'twice.test')
    await expect(add(rightful, 'TWICE.test')).rejects.toMatchObject({ key: 'domain_taken' })
  })

  test('finding 13: the public MX accepts mail for a domain as soon as one team has verified it', async () => {
    await add(squatter, 'served.test')
    const ours = await add(rightful, 'served.test')
    await publish(ours)
    await verify(ours)
    const statuses = await storage.domainsServedAs({ name: 'send.served.test' }, world.clock.now())
    expect(statuses).toContain('verified')
  })
})
