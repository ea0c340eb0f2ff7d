import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storeCertificateRequest, getCertificatePath } from '../../../appliance/certificates/certificates.ts'
import { startScriptedAuthority, type ScriptedAuthority } from '../../world/scripted-authority.ts'
import { HOSTNAME, startHost, until, type Host } from './stage.ts'

/** RFC 9773 §5: an order names the certificate that it replaces. */

let authority: ScriptedAuthority
let host: Host
beforeAll(async () => {
  authority = await startScriptedAuthority()
  host = await startHost(authority)
}, 60_000)
afterAll(async () => {
  await host.close()
  await authority.close()
})

const kept = async () => {
  const file = getCertificatePath(host.dataDir, HOSTNAME)
  return readFile(file, 'utf8').catch(() => '') // There is none before the first order is through.
}
const had = (other: string) => until(kept, (pem) => pem !== '' && pem !== other)

/** Returns the ID of RFC 9773 §4.1, computed from openssl's output. */
async function renewalId(): Promise<string> {
  const file = getCertificatePath(host.dataDir, HOSTNAME)
  const args = ['x509', '-in', file, '-noout', '-serial', '-ext', 'authorityKeyIdentifier']
  const { stdout } = await promisify(execFile)('openssl', args)
  const serial = /serial=([0-9A-F]+)/.exec(stdout)![1]!
  const key = /([0-9A-F]{2}(:[0-9A-F]{2}){19})/.exec(stdout)![1]!.replaceAll(':', '')
  // All serial numbers of this authority start with a set bit.
  return [key, `00${serial}`].map((hex) => Buffer.from(hex, 'hex').toString('base64url')).join('.')
}

const order = (replaces: string | undefined) => ({ names: [HOSTNAME], replaces })

test('an order names the certificate it replaces, if any', async () => {
  const first = await had('')
  expect(authority.orders).toEqual([order(undefined)])
  expect(new X509Certificate(first).subjectAltName).toBe(`DNS:${HOSTNAME}`)
  const id = await renewalId()
  await storeCertificateRequest(host.dataDir, { all: true })
  await had(first)
  expect(authority.orders).toEqual([order(undefined), order(id)])
}, 60_000)

test('an order rejected as already replaced is repeated without the replaced certificate', async () => {
  authority.orders.length = 0
  authority.refusals.push({ type: 'alreadyReplaced', status: 409 })
  const [before, id] = [await kept(), await renewalId()]
  await storeCertificateRequest(host.dataDir, { all: true })
  await had(before)
  expect(authority.orders).toEqual([order(id), order(undefined)])
  await host.until(({ certificates }) => certificates[HOSTNAME]?.failures === 0)
}, 60_000)

test('an order is not repeated when rate limited', async () => {
  authority.orders.length = 0
  authority.refusals.push({ type: 'rateLimited', status: 429 })
  const [before, id] = [await kept(), await renewalId()]
  await storeCertificateRequest(host.dataDir, { all: true })
  const { certificates } = await host.until((memory) => memory.certificates[HOSTNAME]?.failures === 1)
  expect(certificates[HOSTNAME]!.error).toBe('No. (429 rateLimited)')
  expect(authority.orders).toEqual([order(id)])
  expect(await kept()).toBe(before)
}, 60_000)
