import { createHash, type X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  isUsable,
  matchDane,
  formatTlsaShort,
  type Tlsa,
} from '../../../../appliance/delivery/policy/dane.ts'
import { checkCertificate, type TlsDemand } from '../../../../appliance/delivery/tls-demand.ts'
import { createCertificates, type Made } from '../../../world/certificates.ts'

/** Returns a certificate's TLSA record for any selector and matching type (RFC 6698 §2.1). */
function tlsa(of: X509Certificate, usage: number, selector: number, matching: number): Tlsa {
  const whole = selector === 0 ? of.raw : of.publicKey.export({ type: 'spki', format: 'der' })
  const digest = matching === 1 ? 'sha256' : 'sha512'
  const data = matching === 0 ? whole : createHash(digest).update(whole).digest()
  return { usage, selector, matching, data: new Uint8Array(data) }
}

const host = 'mx.example.test'
let maker: Awaited<ReturnType<typeof createCertificates>>
let root: Made, intermediate: Made, leaf: Made, stranger: Made, alone: Made
const at = Date.now() + 60_000

beforeAll(async () => {
  maker = await createCertificates()
  root = await maker.make({ name: 'Root', ca: true, days: 100 })
  intermediate = await maker.make({ name: 'Intermediate', ca: true, by: root, days: 90 })
  leaf = await maker.make({ name: 'x', hosts: [host], by: intermediate, use: 'serverAuth' })
  stranger = await maker.make({ name: 'Stranger', ca: true })
  alone = await maker.make({ name: 'anything', hosts: ['other.test'] })
})
afterAll(() => maker.close())

const chain = (...made: Made[]): X509Certificate[] => made.map(({ x509 }) => x509)
const kinds = [0, 1].flatMap((selector) => [0, 1, 2].map((matching) => [selector, matching] as const))

describe('DANE-EE', () => {
  test.each(kinds)(
    'DANE-EE matches with selector %i and matching type %i, regardless of name and expiry',
    (selector, matching) => {
      const record = tlsa(alone.x509, 3, selector, matching)
      expect(isUsable(record)).toBe(true)
      expect(matchDane(chain(alone), [record], [host], at)).toEqual({ ok: true })
      expect(matchDane(chain(alone), [record], [host], at + 1000 * 86_400_000)).toEqual({ ok: true })
    },
  )

  test.each(kinds)(
    'DANE-EE does not match another certificate with selector %i and matching type %i',
    (selector, matching) => {
      expect(
        matchDane(chain(leaf, intermediate), [tlsa(alone.x509, 3, selector, matching)], [host], at),
      ).toEqual({
        ok: false,
        why: 'matches none of the TLSA records',
        resultType: 'validation-failure',
      })
    },
  )

  test('DANE-EE matches only the server’s own certificate', () => {
    const record = tlsa(intermediate.x509, 3, 1, 1)
    expect(matchDane(chain(leaf, intermediate), [record], [host], at)).toMatchObject({ ok: false })
  })

  test('DANE-EE matches if one of several records matches, as during key rollover', () => {
    const records = [tlsa(stranger.x509, 3, 1, 1), tlsa(leaf.x509, 3, 1, 1)]
    expect(matchDane(chain(leaf), records, [host], at)).toEqual({ ok: true })
  })
})

describe('DANE-TA', () => {
  test.each(kinds)(
    'DANE-TA matches an intermediate with selector %i and matching type %i',
    (selector, matching) => {
      const record = tlsa(intermediate.x509, 2, selector, matching)
      expect(matchDane(chain(leaf, intermediate), [record], [host], at)).toEqual({ ok: true })
    },
  )

  test.each(kinds)(
    'DANE-TA matches a root sent by the server, with selector %i and matching type %i',
    (selector, matching) => {
      const record = tlsa(root.x509, 2, selector, matching)
      expect(matchDane(chain(leaf, intermediate, root), [record], [host], at)).toEqual({ ok: true })
    },
  )

  test.each([0, 1])(
    'DANE-TA matches a root published in full in DNS but not sent by the server, with selector %i',
    (selector) => {
      const record = tlsa(root.x509, 2, selector, 0)
      expect(matchDane(chain(leaf, intermediate), [record], [host], at)).toEqual({ ok: true })
    },
  )

  test('DANE-TA does not match a root published as a digest in DNS but not sent by the server', () => {
    expect(matchDane(chain(leaf, intermediate), [tlsa(root.x509, 2, 0, 1)], [host], at)).toMatchObject({
      ok: false,
    })
  })

  test('DANE-TA requires the name of the TLSA base domain, the MX host or the recipient domain', () => {
    const record = tlsa(intermediate.x509, 2, 0, 1)
    expect(matchDane(chain(leaf, intermediate), [record], ['alias.test', host, 'example.test'], at)).toEqual({
      ok: true,
    })
    expect(matchDane(chain(leaf, intermediate), [record], ['mx.other.test', 'other.test'], at)).toEqual({
      ok: false,
      why: 'is not for mx.other.test or other.test',
      resultType: 'certificate-host-mismatch',
    })
  })

  test('DANE-TA requires a certificate within its validity period', async () => {
    const old = await maker.make({ name: 'x', hosts: [host], by: intermediate, days: -1 })
    const record = tlsa(intermediate.x509, 2, 0, 1)
    expect(matchDane(chain(old, intermediate), [record], [host], at)).toMatchObject({
      ok: false,
      resultType: 'certificate-expired',
    })
    expect(matchDane(chain(leaf, intermediate), [record], [host], at + 40 * 86_400_000)).toMatchObject({
      ok: false,
      resultType: 'certificate-expired',
    })
  })

  test('DANE-TA requires a valid signature chain', () => {
    const record = tlsa(stranger.x509, 2, 0, 1)
    expect(matchDane(chain(leaf, stranger), [record], [host], at)).toEqual({
      ok: false,
      why: 'has a broken chain',
      resultType: 'validation-failure',
    })
  })

  test('DANE-TA rejects a chain through a server certificate', async () => {
    const forged = await maker.make({ name: 'x', hosts: [host], by: leaf })
    const record = tlsa(intermediate.x509, 2, 0, 1)
    expect(matchDane(chain(forged, leaf, intermediate), [record], [host], at)).toMatchObject({
      ok: false,
      why: 'has a broken chain',
    })
  })

  test('DANE-TA rejects a client-only certificate', async () => {
    const client = await maker.make({ name: 'x', hosts: [host], by: intermediate, use: 'clientAuth' })
    const record = tlsa(intermediate.x509, 2, 0, 1)
    expect(matchDane(chain(client, intermediate), [record], [host], at)).toMatchObject({
      ok: false,
      why: 'is not meant for servers',
    })
  })
})

describe('a TLSA record', () => {
  test.each<[string, Tlsa]>([
    ['usage PKIX-TA(0)', { usage: 0, selector: 1, matching: 1, data: new Uint8Array(32) }],
    ['usage PKIX-EE(1)', { usage: 1, selector: 1, matching: 1, data: new Uint8Array(32) }],
    ['an unknown usage', { usage: 4, selector: 1, matching: 1, data: new Uint8Array(32) }],
    ['an unknown selector', { usage: 3, selector: 2, matching: 1, data: new Uint8Array(32) }],
    ['an unknown matching type', { usage: 3, selector: 1, matching: 3, data: new Uint8Array(32) }],
    ['a short digest', { usage: 3, selector: 1, matching: 1, data: new Uint8Array(31) }],
    ['a digest of the wrong length', { usage: 3, selector: 1, matching: 2, data: new Uint8Array(32) }],
    ['data that is no certificate', { usage: 3, selector: 0, matching: 0, data: new Uint8Array(10) }],
    ['data that is no key', { usage: 2, selector: 1, matching: 0, data: new Uint8Array(0) }],
  ])('a TLSA record is unusable with %s', (_, record) => {
    expect(isUsable(record)).toBe(false)
  })

  test('formats a TLSA record in zone file notation, shortened', () => {
    expect(formatTlsaShort({ usage: 3, selector: 1, matching: 1, data: new Uint8Array(32).fill(0xab) })).toBe(
      '3 1 1 abababababababab…',
    )
  })
})

/** Performs a handshake with a real server. Judges the certificates it presents. */
async function shake(demand: TlsDemand, made: Made[], name = host) {
  const server = createServer({ key: made[0]!.key, cert: made.map(({ cert }) => cert).join('') })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, servername: name, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const said = checkCertificate(demand, socket, name, Date.now())
  socket.destroy()
  server.close()
  return said
}

describe('the certificate of a connection', () => {
  const dane = (...records: Tlsa[]): TlsDemand => ({
    kind: 'dane',
    why: '',
    records,
    names: [host],
    requireTls: false,
  })

  test('a certificate satisfies TLSA records of itself, its issuer and its root', async () => {
    expect(await shake(dane(tlsa(leaf.x509, 3, 1, 1)), [leaf])).toEqual({ ok: true })
    expect(await shake(dane(tlsa(intermediate.x509, 2, 0, 1)), [leaf, intermediate])).toEqual({ ok: true })
    expect(await shake(dane(tlsa(root.x509, 2, 1, 2)), [leaf, intermediate, root])).toEqual({ ok: true })
  })

  test('a certificate does not satisfy TLSA records of other certificates', async () => {
    expect(await shake(dane(tlsa(stranger.x509, 3, 1, 1)), [leaf])).toMatchObject({
      resultType: 'validation-failure',
    })
  })

  test('a certificate from an unknown CA satisfies opportunistic and encrypted, but not verified', async () => {
    const verified = { kind: 'verified', why: '', requireTls: false } as const
    expect(await shake(verified, [leaf, intermediate])).toMatchObject({
      resultType: 'certificate-not-trusted',
    })
    expect(await shake({ kind: 'encrypted', why: '' }, [leaf])).toEqual({ ok: true })
    expect(await shake({ kind: 'opportunistic' }, [alone])).toEqual({ ok: true })
  })
})
