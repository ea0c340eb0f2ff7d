import { createSecureContext } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkTrustExpiry } from '../../../appliance/wire/verify-certificate.ts'
import { createCertificates, type Made } from '../../world/certificates.ts'

const NAME = 'mail.example.test'

let certificates: Awaited<ReturnType<typeof createCertificates>>
let ca: Made
beforeAll(async () => {
  certificates = await createCertificates()
  ca = await certificates.make({ name: 'CA', ca: true })
})
afterAll(() => certificates.close())

const make = (hosts: string[], days: number) =>
  certificates.make({ name: 'A certificate', hosts, days, by: ca })
const tried = ({ cert, key }: Made, authority?: string) =>
  checkTrustExpiry(createSecureContext({ cert, key }), NAME, authority)

test('a certificate from a trusted authority counts until it expires', async () => {
  const good = await make([NAME], 20)
  expect(await tried(good, ca.cert)).toBe(Date.parse(good.x509.validTo))
  // As with a private authority, or the staging directory of a public one.
  expect(await tried(good)).toBe(0)
})

test('a self-signed certificate, an expired one, and one for another name do not count', async () => {
  const own = await certificates.make({ name: NAME, hosts: [NAME] })
  expect(await tried(own)).toBe(0)
  expect(await tried(await make([NAME], -1), ca.cert)).toBe(0)
  expect(await tried(await make(['www.example.test'], 20), ca.cert)).toBe(0)
})
