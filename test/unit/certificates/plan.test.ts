import type { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import * as plan from '../../../appliance/certificates/plan.ts'
import { createCertificates, type Made } from '../../world/certificates.ts'
import { listWantedCertificates } from '../../../appliance/assembly/certificates.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const AUTHORITY = 'https://authority.test/dir'
const wanted = { id: 'mail.a.test', names: ['mail.a.test', 'www.a.test'] }

let made: Made
let issued: X509Certificate
let begins: number
beforeAll(async () => {
  const certificates = await createCertificates()
  const ca = await certificates.make({ name: 'CA', ca: true })
  made = await certificates.make({ name: 'mail.a.test', hosts: wanted.names, by: ca, days: 90 })
  await certificates.close()
  issued = made.x509
  begins = Date.parse(issued.validFrom)
})

const good = { ...plan.NEVER_REQUESTED, directory: AUTHORITY, renewAt: null }

describe('when a certificate is due', () => {
  test('a missing certificate is due at once', () => {
    expect(plan.computeRequestTime(wanted, undefined, plan.NEVER_REQUESTED, AUTHORITY)).toBe(0)
  })
  test('a certificate is due after two thirds of its lifetime', () => {
    expect(plan.computeRequestTime(wanted, issued, good, AUTHORITY)).toBe(begins + 60 * DAY)
  })
  test('a certificate is due at the time suggested by the authority', () => {
    expect(plan.computeRequestTime(wanted, issued, { ...good, renewAt: 5 }, AUTHORITY)).toBe(5)
  })
  test('a certificate that lacks a name is due at once', () => {
    const more = { ...wanted, names: [...wanted.names, 'links.a.test'] }
    expect(plan.computeRequestTime(more, issued, good, AUTHORITY)).toBe(0)
  })
  test('a certificate is due at once if another authority is configured', () => {
    expect(plan.computeRequestTime(wanted, issued, good, 'https://other.test/dir')).toBe(0)
  })
  test('after a failure, a certificate is due only after the retry delay', () => {
    const retryAt = begins + 70 * DAY
    expect(plan.computeRequestTime(wanted, issued, { ...good, retryAt }, AUTHORITY)).toBe(retryAt)
    expect(plan.computeRequestTime(wanted, undefined, { ...good, retryAt }, AUTHORITY)).toBe(retryAt)
  })
})

test('requests renewal information when it is outdated, but not for an expired certificate', () => {
  const tried = { ...good, askAt: begins + DAY }
  const asks = [0, DAY, 89 * DAY, 90 * DAY].map((later) =>
    plan.shouldFetchRenewalWindow(issued, tried, begins + later),
  )
  expect(asks).toEqual([false, true, true, false])
})

test('a certificate is fresh for a day or a tenth of a short lifetime, and never if issued in the future', async () => {
  const at = (hadAt: number, later: number, one = issued) =>
    plan.isTooNewToRenew(one, { ...good, hadAt }, hadAt + later)
  expect([at(begins, 0), at(begins, DAY - 1), at(begins, DAY), at(begins, -1)]).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect(plan.isTooNewToRenew(issued, good, begins)).toBe(false)
  const certificates = await createCertificates()
  const { x509: short } = await certificates.make({ name: 'short.a.test', hosts: ['short.a.test'], days: 1 })
  await certificates.close()
  expect([at(begins, 2.3 * HOUR, short), at(begins, 2.5 * HOUR, short)]).toEqual([true, false])
})

test('ignores failures and times in the far future, recorded with a wrong clock', () => {
  const year = 365 * DAY
  const ahead = {
    ...good,
    failures: 1,
    failedAt: begins + year,
    retryAt: begins + year + HOUR,
    askAt: 2 * begins,
  }
  expect(plan.dropFutureTimes(ahead, begins)).toEqual({ ...good, failures: 1 })
  const told = { ...good, failures: 1, failedAt: begins - 1, retryAt: begins + 9 * DAY, askAt: begins + DAY }
  expect(plan.dropFutureTimes(told, begins)).toEqual(told)
})

test('retry delays grow from ten minutes to a day, and are at least as long as the authority requires', () => {
  expect([1, 2, 3, 8, 9, 100].map((failures) => plan.computeRetryDelay(failures, 0, 0) / HOUR)).toEqual([
    1 / 6,
    1 / 3,
    2 / 3,
    64 / 3,
    24,
    24,
  ])
  expect(plan.computeRetryDelay(1, 36 * HOUR, 0)).toBe(36 * HOUR)
  expect(plan.computeRetryDelay(1, 0, 0.5)).toBeCloseTo((HOUR / 6) * 1.05)
})

test('the renewal time lies in the suggested window, and before the certificate expires', () => {
  const window = { start: begins, end: begins + DAY, retryAfter: 0 }
  expect(plan.pickRenewalTime(window, issued, 0.25)).toBe(begins + 6 * HOUR)
  const late = { start: begins + 200 * DAY, end: begins + 201 * DAY, retryAfter: 0 }
  expect(plan.pickRenewalTime(late, issued, 0)).toBe(Date.parse(issued.validTo) - HOUR)
})

test('renewal information is valid as long as the authority says, up to a day', () => {
  expect([0, 1, HOUR, 40 * DAY].map((ms) => plan.computeRenewalWindowTtl(ms))).toEqual([
    6 * HOUR,
    60_000,
    HOUR,
    DAY,
  ])
})

test('the certificate ID matches the example in RFC 9773', () => {
  // From RFC 9773 §4.1: key identifier 69:88:5B:…:C8:D4 and serial number 00:87:65:43:21.
  const keyId = '69885b6b87464041e1b37b847ba0ae2cde01c8d4'
  const raw = Buffer.from(`0603551d230418301680 14${keyId}`.replaceAll(' ', ''), 'hex')
  const certificate = { raw, serialNumber: '87654321' } as X509Certificate
  expect(plan.buildCertificateId(certificate)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
  expect(plan.buildCertificateId({ raw: Buffer.alloc(40), serialNumber: '01' } as X509Certificate)).toBe(
    undefined,
  )
})

test('one certificate covers the host and its extra names, and each verified tracking host gets its own', () => {
  const config = (change: object) =>
    ({
      hostname: 'Mail.a.test',
      tls: { cert: undefined, additional: [] },
      acme: { names: ['www.a.test'], tracking_hosts: true, ...change },
    }) as unknown as Parameters<typeof listWantedCertificates>[0]
  const domain = (name: string, status: string) =>
    ({
      name,
      trackingSubdomain: 'links',
      checks: [{ key: `Tracking links.${name}`, status }],
    }) as unknown as Parameters<typeof listWantedCertificates>[1][number]
  const domains = [domain('b.test', 'verified'), domain('c.test', 'pending')]
  const host = { id: 'mail.a.test', names: ['mail.a.test', 'www.a.test'] }
  expect(listWantedCertificates(config({}), domains)).toEqual([
    host,
    { id: 'links.b.test', names: ['links.b.test'] },
  ])
  expect(listWantedCertificates(config({ tracking_hosts: false }), domains)).toEqual([host])
  const delegating = (name: string, delegation: string, status: string) =>
    ({
      name,
      returnPath: 'send',
      delegation,
      checks: [{ key: `STS mta-sts.send.${name}`, status }],
    }) as unknown as NonNullable<Parameters<typeof listWantedCertificates>[2]>[number]
  const all = [
    delegating('d.test', 'ns', 'verified'),
    delegating('e.test', 'ns', 'pending'),
    delegating('f.test', 'cname', 'verified'),
  ]
  const policies = [host, { id: 'mta-sts.send.d.test', names: ['mta-sts.send.d.test'] }]
  expect(listWantedCertificates(config({}), [], all)).toEqual(policies)
  const withFiles = { ...config({}), tls: { cert: '/cert.pem', key: '/key.pem', additional: [] } }
  expect(listWantedCertificates(withFiles, [])).toEqual([{ id: 'www.a.test', names: ['www.a.test'] }])
})
