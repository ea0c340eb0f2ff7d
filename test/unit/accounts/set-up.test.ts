import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  createAccounts,
  createSetup,
  SETUP_LIFETIME,
  type Setup,
} from '../../../appliance/accounts/accounts.ts'
import { resolveDashboardOrigin, announceSetupLink } from '../../../appliance/commands/set-up-link.ts'
import type { Config } from '../../../appliance/config/config.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { createLogger } from '../../../appliance/watch/log.ts'
import { createTestClock, type TestClock } from '../../world/clock.ts'

const OWNER = {
  email: 'ada@shop.example',
  password: 'quiet harbour lanterns',
  teamName: 'Shop',
  ip: '192.0.2.7',
}

let dataDir: string
let storage: Storage & { close(): Promise<void> }
let clock: TestClock
let accounts: ReturnType<typeof createAccounts>
let setUp: Setup

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'posthaste-set-up-'))
  storage = await openSqlite({ dataDir })
  clock = createTestClock()
  accounts = createAccounts({ storage, clock })
  setUp = createSetup({ storage, clock, accounts })
})

afterEach(async () => {
  await storage.close()
  await rm(dataDir, { recursive: true, force: true })
})

const tokenOf = async () => (await setUp.open())!.token
const INVALID = /^This setup link is invalid, expired or already used\./

describe('the setup link', () => {
  test('the setup link creates the owner once, with an audit entry', async () => {
    expect(await setUp.isOpen()).toBe(true)
    const token = await tokenOf()
    const { user, team } = await setUp.use({ token, ...OWNER })
    expect([user.email, team.name]).toEqual(['ada@shop.example', 'Shop'])
    expect(await setUp.isOpen()).toBe(false)
    expect(await setUp.open()).toBeNull()
    await expect(setUp.use({ token, ...OWNER, email: 'eve@shop.example' })).rejects.toThrow(INVALID)
    const { items } = await storage.listAudit({ teamId: team.id, limit: 10 }, clock.now())
    expect(items).toMatchObject([
      { actor: 'ada@shop.example', actorKind: 'user', ip: '192.0.2.7', action: 'team.set_up' },
    ])
  })

  test('rejects a setup link with a wrong, empty or overlong token', async () => {
    await tokenOf()
    for (const token of ['wrong', '', 'x'.repeat(1000)])
      await expect(setUp.use({ token, ...OWNER })).rejects.toThrow(INVALID)
    expect(await setUp.isOpen()).toBe(true)
  })

  test('a setup link expires after 24 hours, and a new one works', async () => {
    const token = await tokenOf()
    await clock.advance(SETUP_LIFETIME)
    await expect(setUp.use({ token, ...OWNER })).rejects.toThrow(INVALID)
    await setUp.use({ token: await tokenOf(), ...OWNER })
  })

  test('a setup link stays valid when a field is rejected', async () => {
    const token = await tokenOf()
    await expect(setUp.use({ token, ...OWNER, password: 'short' })).rejects.toThrow(/password/)
    await setUp.use({ token, ...OWNER })
  })

  test('a setup link used twice at the same time creates only one owner', async () => {
    const token = await tokenOf()
    const tries = ['ada', 'eve'].map((name) => setUp.use({ token, ...OWNER, email: `${name}@shop.example` }))
    const results = await Promise.allSettled(tries)
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('two setup links used at the same time create only one owner', async () => {
    const tokens = [await tokenOf(), await tokenOf()]
    const tries = tokens.map((token, at) => setUp.use({ token, ...OWNER, email: `${at}@shop.example` }))
    const results = await Promise.allSettled(tries)
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('rejects a setup link when another owner already exists', async () => {
    const token = await tokenOf()
    await accounts.createOwner(OWNER)
    await expect(setUp.use({ token, ...OWNER, email: 'eve@shop.example' })).rejects.toThrow(
      'This server already has an owner.',
    )
  })
})

describe('setup links in the log', () => {
  const http = { admin_listen: [], admin_tls_listen: [] }
  const config = { hostname: 'mail.shop.example', http } as unknown as Config

  /** Returns the lines of the log. */
  async function tell(): Promise<{ msg: string; link?: string }[]> {
    const lines: string[] = []
    const log = createLogger('info', { write: (line: string) => void lines.push(line) })
    const appliance = { accounts, storage, url: 'http://127.0.0.1:8025' }
    await announceSetupLink({ appliance, config, clock, log })
    return lines.map((line) => JSON.parse(line) as { msg: string; link?: string })
  }

  test('the daemon logs a setup link on start until there is an owner', async () => {
    const [line] = await tell()
    const [place, token] = line!.link!.split('#')
    expect(place).toBe('http://127.0.0.1:8025/dashboard/setup')
    await setUp.use({ token: token!, ...OWNER })
    expect(await tell()).toEqual([])
  })

  test('the setup link uses the public URL, or the hostname if the server listens on all addresses', () => {
    expect(resolveDashboardOrigin(config, 'http://0.0.0.0:8025')).toBe('http://mail.shop.example:8025')
    expect(resolveDashboardOrigin(config, 'http://[::]:8025')).toBe('http://mail.shop.example:8025')
    expect(resolveDashboardOrigin(config, 'http://10.0.0.5:8025')).toBe('http://10.0.0.5:8025')
    const proxied = { ...config, http: { ...config.http, public_url: 'https://mail.shop.example' } }
    expect(resolveDashboardOrigin(proxied, 'http://0.0.0.0:8025')).toBe('https://mail.shop.example')
  })

  test('the daemon logs a hint to run posthaste setup when it cannot store a setup token', async () => {
    await storage.close()
    const [line] = await tell()
    expect(line!.msg).toContain('posthaste setup')
  })
})
