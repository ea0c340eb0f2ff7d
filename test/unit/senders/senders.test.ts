import { createPrivateKey, createPublicKey } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccounts } from '../../../appliance/accounts/accounts.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import type { Resolver } from '../../../appliance/dns/dns.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import type { Caller } from '../../../appliance/senders/api-keys.ts'
import { hashToken } from '../../../appliance/senders/keys.ts'
import { createSenders, type Senders } from '../../../appliance/senders/senders.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { createWorld, type World } from '../../world/world.ts'

let world: World
let resolver: Resolver
let storage: Storage
let senders: Senders
let teamId: string

beforeAll(async () => {
  world = await createWorld({ domains: {} })
  resolver = createResolver({
    servers: world.dnsServers,
    clock: world.clock,
    authoritativePort: world.authoritativePort,
  })
  storage = await openSqlite({ dataDir: mkdtempSync(join(tmpdir(), 'posthaste-senders-')) })
  const accounts = createAccounts({ storage, clock: world.clock })
  const owner = { email: 'owner@sender.test', password: 'a long password', teamName: 'Test' }
  teamId = (await accounts.createOwner(owner)).team.id
  const config = { hostname: 'mail.sender.test', sourceIps: [] }
  // One key pair for all domains, because generating keys is slow and only one test reads one.
  const keygen = async () => ({ privateKey: new Uint8Array([1, 2, 3]), publicKey: 'AQID' })
  senders = createSenders({ storage, resolver, clock: world.clock, config, keygen })
})

afterAll(async () => {
  await senders.close()
  resolver.close()
  await storage.close()
  await world.close()
})

/** Returns a promise's rejection as `key: message`. */
async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => new Error('was not refused'),
    (reason: Error) => reason,
  )
  return `${'key' in error ? String(error.key) : 'error'}: ${error.message}`
}

async function verified(name: string) {
  const domain = await senders.addDomain({ teamId, name })
  world.dns.set(`posthaste._domainkey.${name}`, { TXT: ['v=DKIM1; k=rsa; p=AQID'] })
  world.dns.set(`send.${name}`, {
    TXT: ['v=spf1 a:mail.sender.test ~all'],
    MX: [{ preference: 10, exchange: 'mail.sender.test' }],
  })
  return senders.verifyDomain({ teamId, id: domain.id })
}

const person = (): Caller => ({ teamId, apiKey: null })

describe('API keys', () => {
  test('an API key authenticates only by its exact token', async () => {
    const { key, token } = await senders.createKey({ teamId, name: 'app', permission: 'full_access' })
    expect(await senders.authenticate(token)).toEqual({ teamId, apiKey: key })
    expect(await senders.authenticate(`${token}x`)).toBeUndefined()
    expect(await senders.authenticate(token.toLowerCase())).toBeUndefined()
    expect(await senders.authenticate('')).toBeUndefined()
    expect(await senders.authenticate(`re_${'x'.repeat(1_000_000)}`)).toBeUndefined()
  })

  test('a revoked API key is rejected at once, and cannot be revoked twice', async () => {
    const { key, token } = await senders.createKey({
      teamId,
      name: 'short-lived',
      permission: 'sending_access',
    })
    await senders.revokeKey({ teamId, id: key.id })
    expect(await senders.authenticate(token)).toBeUndefined()
    expect(await refusal(senders.revokeKey({ teamId, id: key.id }))).toBe('not_found: API key not found')
  })

  test('an API key stored without a prefix shows it after its next use', async () => {
    const token = `re_Older123_${'x'.repeat(32)}`
    const odd = `re_${'y'.repeat(20)}`
    const now = world.clock.now()
    const settings = {
      teamId,
      name: 'older',
      permission: 'full_access',
      domainId: null,
      prefix: null,
    } as const
    for (const one of [token, odd])
      await storage.createApiKey(
        { ...settings, id: newId(now), createdAt: now, lastUsedAt: null, tokenHash: hashToken(one) },
        now,
      )
    const prefixes = async () =>
      (await senders.listKeys({ teamId })).filter(({ name }) => name === 'older').map(({ prefix }) => prefix)
    expect(await prefixes()).toEqual([null, null])
    for (const one of [token, odd]) expect(await senders.authenticate(one)).toBeDefined()
    await world.clock.advance(3000)
    // In a token of another format, no part is known to be safe to show.
    await expect.poll(prefixes).toEqual([null, 're_Older123'])
  })

  test('an API key shows its last use a few seconds later', async () => {
    const { key, token } = await senders.createKey({ teamId, name: 'used', permission: 'full_access' })
    const before = world.clock.now()
    await senders.authenticate(token)
    await world.clock.advance(3001)
    await senders.close()
    const [found] = (await senders.listKeys({ teamId })).filter(({ id }) => id === key.id)
    expect(found!.lastUsedAt).toBeGreaterThanOrEqual(before)
  })

  test('an API key can be restricted to a domain of the team, but only with sending access', async () => {
    const { id } = await senders.addDomain({ teamId, name: 'restricted.test' })
    const args = { teamId, name: 'x', domainId: id }
    expect((await senders.createKey({ ...args, permission: 'sending_access' })).key.domainId).toBe(id)
    expect(await refusal(senders.createKey({ ...args, permission: 'full_access' }))).toBe(
      'invalid_field: Invalid `domain_id` field: only with sending_access.',
    )
    const foreign = { ...args, domainId: '0197c3e2-5a71-7000-8000-1c2d3e4f5061' }
    expect(await refusal(senders.createKey({ ...foreign, permission: 'sending_access' }))).toBe(
      'not_found: Domain not found',
    )
  })

  test('an API key has a name of at most 50 characters', async () => {
    expect(
      await refusal(senders.createKey({ teamId, name: 'x'.repeat(51), permission: 'full_access' })),
    ).toBe('invalid_field: Invalid `name` field: at most 50 characters.')
  })
})

describe('sending domains', () => {
  test('a domain is stored as A-labels and found in any spelling', async () => {
    const domain = await senders.addDomain({ teamId, name: 'Bücher.Test' })
    expect(domain).toMatchObject({
      name: 'xn--bcher-kva.test',
      status: 'not_started',
      region: 'us-east-1',
      returnPath: 'send',
      checks: [],
      checkedAt: null,
    })
    expect(await senders.findDomain({ teamId, name: 'BÜCHER.test.' })).toEqual(domain)
  })

  test('a domain is rejected if invalid or already registered', async () => {
    await senders.addDomain({ teamId, name: 'taken.test' })
    expect(await refusal(senders.addDomain({ teamId, name: 'TAKEN.test' }))).toBe(
      'domain_taken: The taken.test domain has been registered already.',
    )
    expect(await refusal(senders.addDomain({ teamId, name: 'co.uk' }))).toBe(
      'invalid_field: Invalid `name` field: a domain below the public suffix co.uk.',
    )
    expect(await refusal(senders.addDomain({ teamId, name: 'a.test', region: 'mars' }))).toBe(
      'invalid_region: Region must be "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1".',
    )
    expect(await refusal(senders.addDomain({ teamId, name: 'a.test', returnPath: '_x' }))).toMatch(
      /^invalid_field: Invalid `custom_return_path`/,
    )
  })

  test('a domain gets a 2048-bit RSA key whose public half is in the DKIM record', async () => {
    const config = { hostname: 'mail.sender.test', sourceIps: [] }
    const real = createSenders({ storage, resolver, clock: world.clock, config })
    const domain = await real.addDomain({ teamId, name: 'rsa.test' })
    const [key] = await storage.dkimKeys({ domainId: domain.id }, world.clock.now())
    const privateKey = createPrivateKey({ key: Buffer.from(key!.privateKey), format: 'der', type: 'pkcs8' })
    const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).toString('base64')
    expect(privateKey.asymmetricKeyDetails!.modulusLength).toBe(2048)
    expect((await real.expectedRecords(domain))[0]!.value).toBe(`v=DKIM1; k=rsa; p=${spki}`)
  })

  test('a domain is verified against DNS, and the checks are stored', async () => {
    const domain = await verified('verified.test')
    expect(domain.status).toBe('verified')
    expect(domain.checks.map(({ key, status }) => [key, status])).toEqual([
      ['DKIM posthaste', 'verified'],
      ['DKIM posthaste-ed25519', 'pending'],
      ['SPF MX', 'verified'],
      ['SPF', 'verified'],
      ['DMARC', 'pending'],
      ['MTA-STS', 'pending'],
      ['TLS-RPT', 'pending'],
      ['BIMI', 'pending'],
    ])
    expect(await senders.getDomain({ teamId, id: domain.id })).toEqual(domain)
  })

  test('a domain that was removed or belongs to another team is not found', async () => {
    const { id } = await senders.addDomain({ teamId, name: 'removed.test' })
    const other = '0197c3e2-5a71-7000-8000-1c2d3e4f5061'
    expect(await refusal(senders.getDomain({ teamId: other, id }))).toBe('not_found: Domain not found')
    expect(await refusal(senders.removeDomain({ teamId: other, id }))).toBe('not_found: Domain not found')
    await senders.removeDomain({ teamId, id })
    expect(await refusal(senders.verifyDomain({ teamId, id }))).toBe('not_found: Domain not found')
  })
})

describe('authorize', () => {
  test('authorizes a team to send only as exactly its verified domain', async () => {
    const domain = await verified('sends.test')
    expect(await senders.authorize(person(), { domain: 'Sends.TEST' })).toEqual(domain)
    expect(await refusal(senders.authorize(person(), { domain: 'news.sends.test' }))).toMatch(
      /^domain_unknown: The news\.sends\.test domain/,
    )
    expect(
      await refusal(senders.authorize({ teamId: 'other', apiKey: null }, { domain: 'sends.test' })),
    ).toMatch(/^domain_unknown: /)
    expect(await refusal(senders.authorize(person(), { domain: '' }))).toMatch(/^domain_unknown: /)
  })

  test('does not authorize a domain that is not or no longer verified', async () => {
    await senders.addDomain({ teamId, name: 'unverified.test' })
    const asked = () => refusal(senders.authorize(person(), { domain: 'unverified.test' }))
    expect(await asked()).toBe(
      'domain_not_verified: The unverified.test domain is not verified. Publish its DNS records and verify it before sending.',
    )
    const { id } = await verified('fallen.test')
    world.dns.set('posthaste._domainkey.fallen.test', 'NXDOMAIN')
    await world.clock.advance(3_600_000)
    expect((await senders.verifyDomain({ teamId, id })).status).toBe('verified')
    await world.clock.advance(3_600_000)
    expect((await senders.verifyDomain({ teamId, id })).status).toBe('failed')
    expect(await refusal(senders.authorize(person(), { domain: 'fallen.test' }))).toMatch(
      /^domain_not_verified: /,
    )
  })

  test('authorizes a domain with a broken return path, but not one with sending disabled', async () => {
    const { id } = await verified('partly.test')
    world.dns.set('send.partly.test', 'NXDOMAIN')
    for (const look of [1, 2]) {
      await world.clock.advance(look * 3_600_000)
      await senders.verifyDomain({ teamId, id })
    }
    expect(await senders.authorize(person(), { domain: 'partly.test' })).toMatchObject({
      status: 'partially_failed',
    })
    await senders.updateDomain({ teamId, id, settings: { sending: false, receiving: true } })
    expect(await refusal(senders.authorize(person(), { domain: 'partly.test' }))).toBe(
      'domain_sending_disabled: Sending from the partly.test domain is disabled. Enable its `sending` capability first.',
    )
  })

  test('authorizes a restricted key only for its domain', async () => {
    const domain = await verified('only.test')
    await verified('not-this.test')
    const { key } = await senders.createKey({
      teamId,
      name: 'x',
      permission: 'sending_access',
      domainId: domain.id,
    })
    const caller = { teamId, apiKey: key }
    expect((await senders.authorize(caller, { domain: 'only.test' })).id).toBe(domain.id)
    for (const name of ['not-this.test', 'unknown.test'])
      expect(await refusal(senders.authorize(caller, { domain: name }))).toBe(
        `key_restricted_to_domain: This API key is not allowed to send from ${name}.`,
      )
  })
})
