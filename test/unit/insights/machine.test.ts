import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttps } from 'node:https'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readCertificate } from '../../../appliance/insights/certificate.ts'
import type { DiskFacts } from '../../../appliance/insights/disk.ts'
import { evaluateListeners, probeListener } from '../../../appliance/insights/listeners.ts'
import { evaluatePort25, probePort25 } from '../../../appliance/insights/port25.ts'
import {
  evaluateResponses,
  evaluateCaching,
  evaluateValidation,
  queryResolver,
} from '../../../appliance/insights/resolver.ts'
import { fetchTime, evaluateTime } from '../../../appliance/insights/time.ts'
import { createSelfSignedPair } from '../../../appliance/wire/self-signed.ts'
import { freeAddress } from '../../world/addresses.ts'
import { said, startNames, type Names } from './fixtures.ts'
import {
  evaluateCertificate,
  probeAddress,
  evaluateDisk,
  measureDisk,
} from '../../../appliance/insights/insights.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-insights-'))
const servers: Server[] = []
const zones: Names[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve))
  for (const zone of zones.splice(0)) await zone.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Listens on an address of its own. Sends `greeting`, if given, on every connection. */
async function listen(
  greeting: string | null,
  address = freeAddress(),
): Promise<{ ip: string; port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end())
    if (greeting !== null) socket.write(greeting)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  return { ip: address, port: (server.address() as AddressInfo).port }
}

async function names(zone: Parameters<typeof startNames>[0]): Promise<Names> {
  const started = await startNames(zone)
  zones.push(started)
  return started
}

describe('outgoing port 25', () => {
  const ask = async (targets: { ip: string; port: number }[], source = 'auto', more: string[] = []) => {
    const zone = Object.fromEntries(targets.map(({ ip }, at) => [`mx${at}.test`, { A: ip }]))
    const dns = await names(zone)
    const all = [...targets.map(({ port }, at) => `mx${at}.test:${port}`), ...more]
    return said(evaluatePort25(source, await probePort25(dns.fresh(), all, source, 300)))
  }
  const closed = { ip: freeAddress(), port: 9 }

  test('port 25 passes when one mail exchanger sends a greeting', async () => {
    expect(await ask([closed, await listen('220 mx1.test ESMTP\r\n')])).toEqual([
      'ok',
      'mx1.test answers.',
      null,
    ])
    const source = freeAddress()
    expect((await ask([await listen('220 hi\r\n')], source))[0]).toBe('ok')
  })

  test('port 25 fails when no mail exchanger can be reached, with advice to ask the provider', async () => {
    const [status, found, advice] = await ask([closed])
    expect([status, found]).toEqual([
      'failed',
      'No mail exchanger can be reached: mx0.test refuses connections.',
    ])
    expect(advice).toContain('Most hosting providers block outgoing port 25 by default')
  })

  test('port 25 fails as intercepted when something else responds', async () => {
    expect((await ask([await listen('554 no mail from here\r\n'), await listen(null)])).slice(0, 2)).toEqual([
      'failed',
      'Something responds on port 25, but not like a mail exchanger: mx0.test says "554 no mail from here"; mx1.test accepts the connection but sends nothing for 0 seconds.',
    ])
  })

  test('port 25 is skipped when DNS returns no address', async () => {
    expect(await ask([], 'auto', ['gone.test'])).toEqual([
      'skipped',
      'No mail exchanger could be contacted: DNS returned no address for any of them.',
      'See the findings about the resolver.',
    ])
  })

  test('port 25 cannot be tested from an address that this machine does not have', async () => {
    expect((await ask([await listen('220 hi\r\n')], '192.0.2.1'))[1]).toBe(
      'No mail exchanger can be reached: mx0.test was not contacted: the sending IP is not an address of this machine.',
    )
    expect(await probeAddress('192.0.2.1')).toBe('192.0.2.1 is not an address of this machine')
    expect(await probeAddress(freeAddress())).toBe(null)
  })
})

describe('the DNS resolver', () => {
  const asked = { cached: 'cached.test', signed: 'signed.test', broken: 'broken.test' }
  const facts = async (zone: Parameters<typeof startNames>[0]) =>
    queryResolver((await names(zone)).fresh, asked, 0)
  const good = { A: '192.0.2.1', authentic: true }

  test('a resolver passes if it caches and validates', async () => {
    let ttl = 300
    const seen = await facts((name) => {
      if (name === 'broken.test') return 'SERVFAIL'
      return name === 'cached.test' ? { ...good, ttl: (ttl -= 7) } : good
    })
    expect(said(evaluateResponses(seen))).toEqual(['ok', 'The resolver responds.', null])
    expect(said(evaluateCaching(seen))).toEqual([
      'ok',
      'The resolver caches answers: the TTL of cached.test fell from 293 to 286 seconds.',
      null,
    ])
    expect(said(evaluateValidation(seen, true))).toEqual([
      'ok',
      'The resolver validates DNSSEC and dns.trust_ad is on, so DANE is used.',
      null,
    ])
    expect(said(evaluateValidation(seen, false)).slice(0, 2)).toEqual([
      'ok',
      'The resolver validates DNSSEC, but dns.trust_ad is off, so DANE is not used.',
    ])
  })

  test('a resolver counts as caching if the second answer is faster', async () => {
    let delayMs = 200
    const seen = await facts((name) => {
      const entry = { ...good, delayMs: name === 'cached.test' ? delayMs : 0 }
      if (name === 'cached.test') delayMs = 0
      return entry
    })
    expect(evaluateCaching(seen).status).toBe('ok')
  })

  test('a resolver without caching and validation causes a warning, and a failure with dns.trust_ad', async () => {
    const seen = await facts({ 'cached.test': good, 'signed.test': { A: '192.0.2.1' }, 'broken.test': good })
    const alike = { ...seen, first: { ...seen.first, ms: 20 }, second: { ...seen.second, ms: 15 } }
    expect(evaluateCaching(alike).found).toBe(
      'The resolver does not seem to cache answers: the TTL of cached.test stayed at 300 seconds.',
    )
    const how = 'The resolver does not validate DNSSEC: it resolves broken.test, whose signatures are broken'
    expect(said(evaluateValidation(seen, false)).slice(0, 2)).toEqual([
      'warning',
      `${how}. DANE cannot be used.`,
    ])
    expect(said(evaluateValidation(seen, true)).slice(0, 2)).toEqual([
      'failed',
      `${how}. But dns.trust_ad is on, so Posthaste trusts forged records.`,
    ])
  })

  test('a resolver that validates without the AD flag cannot be used for DANE', async () => {
    const seen = await facts({
      'cached.test': good,
      'signed.test': { A: '192.0.2.1' },
      'broken.test': 'SERVFAIL',
    })
    expect(said(evaluateValidation(seen, true)).slice(0, 2)).toEqual([
      'warning',
      'The resolver rejects broken.test, but does not mark signed.test as authentic (AD flag). DANE cannot be used.',
    ])
  })

  test('a resolver that does not answer fails, and the other checks are skipped', async () => {
    const seen = await facts({
      'cached.test': 'SERVFAIL',
      'signed.test': 'SERVFAIL',
      'broken.test': 'SERVFAIL',
    })
    expect(evaluateResponses(seen).status).toBe('failed')
    expect(evaluateCaching(seen).status).toBe('skipped')
    expect(evaluateValidation(seen, false).status).toBe('skipped')
    const empty = await facts({})
    expect(evaluateResponses(empty).found).toBe('The resolver says that well-known names do not exist.')
  })
})

describe('the clock check', () => {
  const at = Date.UTC(2026, 0, 1)
  const judge = (off: number) => said(evaluateTime([{ origin: 'https://a.test', at }], at + off))

  test.each([
    [0, 'ok', 'The clock agrees with https://a.test.'],
    [-29_000, 'ok', 'The clock agrees with https://a.test.'],
    [
      31_000,
      'warning',
      'The clock is 31 seconds ahead of https://a.test. Retries, signatures and certificates depend on it.',
    ],
    [
      -400_000,
      'failed',
      'The clock is 400 seconds behind https://a.test. Retries, signatures and certificates depend on it.',
    ],
  ])('a clock with an offset of %i ms is %s: %s', (off, status, found) => {
    expect(judge(off).slice(0, 2)).toEqual([status, found])
  })

  test('the clock check uses a real server with any certificate, and is skipped if none responds', async () => {
    const pair = await createSelfSignedPair(['clock.test'], Date.UTC(2001, 0, 1))
    const server = createHttps(pair, (_request, response) => {
      response.setHeader('date', 'Thu, 01 Jan 2026 00:00:00 GMT').end()
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await fetchTime(origin)).toEqual({ origin, at })
    server.closeAllConnections()
    const nobody = await fetchTime('https://127.0.0.1:9')
    expect(said(evaluateTime([nobody], at))).toEqual([
      'skipped',
      'No web server returned the time: https://127.0.0.1:9 ECONNREFUSED.',
      null,
    ])
  })
})

describe('the disk check', () => {
  const GIB = 1024 ** 3
  const facts = (
    space: Partial<DiskFacts['space']>,
    write: DiskFacts['write'] = { ms: 4.25 },
  ): DiskFacts => ({
    path: '/data',
    space: { free: 50 * GIB, total: 100 * GIB, inodesFree: 90, inodes: 100, ...space },
    write,
  })

  test.each([
    [facts({}), 'ok', '50.0 GiB of 100.0 GiB free, 90% of its inodes; a durable write takes 4.3 ms.'],
    [facts({ inodes: 0, inodesFree: 0 }), 'ok', '50.0 GiB of 100.0 GiB free; a durable write takes 4.3 ms.'],
    [facts({ free: 9 * GIB }), 'warning', '9.0 GiB of 100.0 GiB free, 90% of its inodes.'],
    [facts({ free: 1.5 * GIB }), 'failed', '1.5 GiB of 100.0 GiB free, 90% of its inodes.'],
    [facts({ inodesFree: 1 }), 'failed', '50.0 GiB of 100.0 GiB free, 1% of its inodes.'],
    [
      facts({}, { ms: 250 }),
      'warning',
      '50.0 GiB of 100.0 GiB free, 90% of its inodes; a durable write takes 250 ms, which is slow.',
    ],
    [facts({}, { note: 'EROFS: read-only' }), 'failed', '/data is not writable: EROFS: read-only.'],
    [
      facts({}, null),
      'ok',
      '50.0 GiB of 100.0 GiB free, 90% of its inodes; the directory is created at the first start.',
    ],
    [{ path: '/data', space: { note: 'EACCES' }, write: null }, 'failed', '/data cannot be read: EACCES.'],
  ])('the disk check evaluates free space, inodes and write time: case %#', (measured, status, found) => {
    expect(said(evaluateDisk(measured)).slice(0, 2)).toEqual([status, found])
  })

  test('measures the disk of data_dir, even before data_dir exists, and removes its test file', async () => {
    const { space, write } = await measureDisk(folder)
    expect(space).toMatchObject({ free: expect.any(Number) as number, total: expect.any(Number) as number })
    expect(write).toEqual({ ms: expect.any(Number) as number })
    const later = await measureDisk(join(folder, 'not', 'yet'))
    expect(later.write).toBe(null)
    expect(later.space).toHaveProperty('free')
  })
})

describe('the certificate check', () => {
  const now = Date.UTC(2026, 0, 1)
  const DAY = 86_400_000
  let signed: X509Certificate
  beforeAll(() => {
    signed = new X509Certificate(issue('mail.acme.example', 60))
  })

  test('a certificate passes until two weeks before expiry', () => {
    const ends = Date.parse(signed.validTo)
    const judge = (at: number, hostname: string | null = 'mail.acme.example') =>
      said(evaluateCertificate({ file: 'f', certificate: signed }, hostname, at))
    const date = new Date(ends).toISOString().slice(0, 10)
    expect(judge(ends - 30 * DAY)).toEqual(['ok', `Valid until ${date} for mail.acme.example.`, null])
    expect(judge(ends - 30 * DAY, null)[0]).toBe('ok')
    expect(judge(ends - 10 * DAY).slice(0, 2)).toEqual(['warning', `It expires in 10 days, on ${date}.`])
    expect(judge(ends + 1000).slice(0, 2)).toEqual(['failed', `It expired on ${date}, so clients reject it.`])
    expect(judge(Date.parse(signed.validFrom) - 1000)[1]).toBe('It is not valid yet. Check the clock.')
    expect(judge(ends - 30 * DAY, 'other.example').slice(0, 2)).toEqual([
      'failed',
      'It is for DNS:mail.acme.example, not for other.example.',
    ])
  })

  test('reports a self-signed, missing or unreadable certificate', async () => {
    const pair = await createSelfSignedPair(['mail.acme.example'], now)
    const dataDir = join(folder, 'certificates')
    const read = () => readCertificate(undefined, dataDir)
    expect(said(evaluateCertificate(await read(), 'mail.acme.example', now)).slice(0, 2)).toEqual([
      'warning',
      'No certificate is configured. The server creates a self-signed one at the first start.',
    ])
    mkdirSync(join(dataDir, 'tls'), { recursive: true })
    writeFileSync(join(dataDir, 'tls', 'self-signed.json'), JSON.stringify(pair))
    expect(said(evaluateCertificate(await read(), 'mail.acme.example', now)).slice(0, 2)).toEqual([
      'warning',
      'It is self-signed (valid until 2035-12-30), so apps must be configured to trust it.',
    ])
    const missing = await readCertificate(join(dataDir, 'none.pem'), dataDir)
    expect(said(evaluateCertificate(missing, 'mail.acme.example', now)).slice(0, 2)).toEqual([
      'failed',
      `${join(dataDir, 'none.pem')} cannot be read (ENOENT).`,
    ])
  })

  /** Issues a certificate for a name, by a new authority. */
  function issue(name: string, days: number): Buffer {
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    openssl(
      'req',
      '-x509',
      ...key,
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-subj',
      '/CN=Test CA',
      '-days',
      '90',
    )
    const request = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-subj', `/CN=${name}`, '-days', String(days)]
    openssl(
      'req',
      '-x509',
      ...key,
      ...request,
      '-keyout',
      'a.key',
      '-out',
      'a.pem',
      '-addext',
      `subjectAltName=DNS:${name}`,
    )
    return execFileSync('cat', [join(folder, 'a.pem')])
  }
})

describe("the check of the daemon's ports", () => {
  const HOST = 'mail.acme.example'
  const smtp = ({ ip, port }: { ip: string; port: number }) =>
    probeListener({ address: `${ip}:${port}`, setting: 'smtp.starttls' }, HOST)
  const http = ({ ip, port }: { ip: string; port: number }) =>
    probeListener({ address: `${ip}:${port}`, setting: 'http.listen' }, HOST)
  const ours = `220 ${HOST} ESMTP Posthaste\r\n`
  const judge = async (...answers: ReturnType<typeof smtp>[]) =>
    said(evaluateListeners((await Promise.all(answers)).filter((one) => one !== null)))
  const closed = { ip: freeAddress(), port: 9 }

  test('the port check passes if all ports respond', async () => {
    expect(await judge(smtp(await listen(ours)), http(await listen(null)))).toEqual([
      'ok',
      'All 2 configured ports respond.',
      null,
    ])
  })

  test('the port check warns if only some ports respond', async () => {
    expect((await judge(smtp(await listen(ours)), smtp(closed))).slice(0, 2)).toEqual([
      'warning',
      `${closed.ip}:9 (smtp.starttls) refuses connections; 1 of 2 ports respond.`,
    ])
  })

  test('the port check fails if another program responds', async () => {
    const other = await listen('220 localhost ESMTP Postfix\r\n')
    expect((await judge(smtp(other))).slice(0, 2)).toEqual([
      'failed',
      `Another program is listening: ${other.ip}:${other.port} (smtp.starttls) says "220 localhost ESMTP Postfix".`,
    ])
  })

  test('the port check is skipped while the daemon does not run', async () => {
    expect((await judge(smtp(closed), http(closed))).slice(0, 2)).toEqual([
      'skipped',
      'No configured port responds: the daemon is not running.',
    ])
    expect(await http({ ip: '127.0.0.1', port: 0 })).toBe(null)
  })
})
