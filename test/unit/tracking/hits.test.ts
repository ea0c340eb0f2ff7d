import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import {
  createTracking,
  chooseLinkOrigin,
  pickReachableOrigin,
} from '../../../appliance/tracking/tracking.ts'
import { signRecipientToken, signToken } from '../../../appliance/tracking/tokens.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'

const domain = {
  name: 'shop.test',
  openTracking: true,
  clickTracking: true,
  trackingSubdomain: 'links',
  checks: [
    {
      key: 'Tracking links.shop.test',
      status: 'verified' as const,
      found: [],
      note: null,
      checkedAt: 0,
      since: 0,
    },
  ],
}

test('recording a visit succeeds even if the storage fails', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-hits-'))
  const storage = await openSqlite({ dataDir })
  await storage.close()
  const tracking = createTracking({
    storage,
    clock: systemClock,
    log: createSilentLogger(),
    storeIp: true,
    robots: () => [],
    secret: new Uint8Array(32),
    origin: () => null,
    certified: never,
  })
  const visit = { method: 'GET', ip: '192.0.2.1', userAgent: 'x', purpose: '' }
  const tracked = { emailId: '01980000-0000-7000-8000-000000000001', link: 'https://shop.test/' }
  await expect(tracking.note('click', tracked, visit)).resolves.toBeUndefined()
  expect(tracking.planFor(domain, tracked.emailId, [])).toBeNull()
  await rm(dataDir, { recursive: true })
})

const always = () => true
const never = () => false

test('a numbered link resolves through its revision, and invalid numbers do not resolve', async () => {
  const [revisionId, emailId] = [
    '01980000-0000-7000-8000-0000000000a1',
    '01980000-0000-7000-8000-0000000000b2',
  ]
  const asked: string[] = []
  const storage = {
    trackedEmail: () => Promise.resolve(undefined),
    recordHit: () => Promise.resolve(),
    getRevision: ({ id }: { id: string }) => {
      asked.push(id)
      return Promise.resolve(JSON.stringify({ links: ['https://shop.test/a', 'https://shop.test/b'] }))
    },
  }
  const secret = new Uint8Array(32)
  const tracking = createTracking({
    storage,
    clock: systemClock,
    log: createSilentLogger(),
    storeIp: true,
    robots: () => [],
    secret,
    origin: () => null,
    certified: never,
  })
  const token = signRecipientToken(secret, { revisionId, emailId })
  const open = (rest: string) => tracking.open('click', rest)
  expect(await open(`${token}/1`)).toEqual({ emailId, link: 'https://shop.test/b' })
  expect(await open(`${token}/0`)).toEqual({ emailId, link: 'https://shop.test/a' })
  for (const rest of [token, `${token}/`, `${token}/2`, `${token}/-1`, `${token}/01x`, `x${token}/0`])
    expect(await open(rest)).toBeUndefined()
  expect(asked).toEqual([revisionId])
  expect(await tracking.open('open', token)).toEqual({ emailId, link: '' })
  expect(await tracking.open('open', signToken(secret, 'open', { emailId, link: '' }))).toEqual({
    emailId,
    link: '',
  })
})

test('tracked links use the domain’s tracking subdomain once verified, with the server’s scheme and port', () => {
  const ours = 'https://mail.test'
  expect(chooseLinkOrigin(domain, 'https://mail.test:8443', always)).toBe('https://links.shop.test:8443')
  expect(chooseLinkOrigin({ ...domain, trackingSubdomain: 'other' }, ours, always)).toBe(ours)
  expect(chooseLinkOrigin({ ...domain, trackingSubdomain: null }, ours, always)).toBe(ours)
  expect(chooseLinkOrigin({ ...domain, checks: [] }, ours, always)).toBe(ours)
})

test('tracked https links use the domain’s tracking subdomain only with a certificate for it', () => {
  const asked: string[] = []
  const origin = chooseLinkOrigin(domain, 'https://mail.test', (host) => asked.push(host) > 1)
  expect([origin, asked]).toEqual(['https://mail.test', ['links.shop.test']])
  expect(chooseLinkOrigin(domain, 'http://mail.test', never)).toBe('http://links.shop.test')
})

test.each([
  ['http://127.0.0.1:8025', 'http://127.0.0.1:8025'],
  ['http://192.0.2.1:80', 'http://192.0.2.1:80'],
  ['http://0.0.0.0:8025', null],
  ['http://[::]:8025', null],
  ['http://[::1]:8025', 'http://[::1]:8025'],
  [undefined, null],
])('the public origin for %s is %s', (listening, origin) => {
  expect(pickReachableOrigin(listening)).toBe(origin)
})
