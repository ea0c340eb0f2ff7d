import { execFile } from 'node:child_process'
import { createPublicKey, randomBytes, verify, type JsonWebKey, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { freeAddress } from './addresses.ts'
import type { Authority } from './authority.ts'
import { createCertificates } from './certificates.ts'

const execute = promisify(execFile)

/** The contents of an order. */
export interface SeenOrder {
  names: string[]
  /** RFC 9773 §5; undefined if the order doesn't have it. */
  replaces: string | undefined
}

/**
 * A certificate authority that supports RFC 9773 and requires no challenges. Debian's Pebble doesn't support RFC 9773.
 */
export interface ScriptedAuthority extends Pick<Authority, 'directory' | 'ca' | 'address'> {
  orders: SeenOrder[]
  /** Problem types (RFC 8555 §6.7) with which to reject the next orders that have `replaces`, one each. */
  refusals: { type: string; status: number }[]
  close(): Promise<void>
}

interface Jws {
  protected: string
  payload: string
  signature: string
}

/** Starts the authority. It checks signatures and nonces, and responds with 400 to errors. */
export async function startScriptedAuthority(): Promise<ScriptedAuthority> {
  const issuer = await createIssuer()
  const orders: SeenOrder[] = []
  const refusals: ScriptedAuthority['refusals'] = []
  const nonces = new Set<string>()
  const certificates = new Map<string, string>()
  let account: KeyObject | undefined
  let made = 0

  const open = async ({ protected: head, payload, signature }: Jws, url: string): Promise<unknown> => {
    const header = JSON.parse(decode(head)) as { jwk?: JsonWebKey; nonce: string; url: string }
    if (header.jwk) account = createPublicKey({ key: header.jwk, format: 'jwk' })
    const signed = Buffer.from(`${head}.${payload}`)
    const key = { key: account!, dsaEncoding: 'ieee-p1363' as const }
    const good = verify('sha256', signed, key, Buffer.from(signature, 'base64url'))
    if (!good || header.url !== url || !nonces.delete(header.nonce))
      throw new Error('not signed as it must be')
    return payload === '' ? null : JSON.parse(decode(payload))
  }
  const answer = async (path: string, asked: unknown): Promise<Answer> => {
    const [, what, id = `${++made}`] = path.split('/')
    const order = (state: object) => ({ authorizations: [], finalize: `${origin}/finalize/${id}`, ...state })
    switch (what) {
      case 'account':
        return { status: 201, body: {}, location: `${origin}/account/1` }
      case 'new-order': {
        const { identifiers, replaces } = asked as { identifiers: { value: string }[]; replaces?: string }
        orders.push({ names: identifiers.map(({ value }) => value), replaces })
        const refusal = replaces === undefined ? undefined : refusals.shift()
        if (refusal)
          return {
            status: refusal.status,
            body: { type: `urn:ietf:params:acme:error:${refusal.type}`, detail: 'No.' },
          }
        return { status: 201, body: order({ status: 'ready' }), location: `${origin}/order/${id}` }
      }
      case 'finalize':
        certificates.set(id, await issuer.sign((asked as { csr: string }).csr))
        return { status: 200, body: order({ status: 'processing' }) }
      case 'order':
        return certificates.has(id)
          ? { status: 200, body: order({ status: 'valid', certificate: `${origin}/certificate/${id}` }) }
          : { status: 200, body: order({ status: 'ready' }) }
      case 'certificate':
        return { status: 200, body: certificates.get(id)! }
      default:
        return { status: 404, body: {} }
    }
  }

  const server = createServer({ cert: issuer.own.cert, key: issuer.own.key }, (request, response) => {
    const { url = '', method } = request
    const serve = async (): Promise<Answer> => {
      if (url === '/dir') return { status: 200, body: directory() }
      if (method !== 'POST') return { status: 200, body: {} }
      const asked = await open(JSON.parse(await text(request)) as Jws, origin + url)
      return answer(url, asked)
    }
    const failed = (error: unknown): Answer => ({ status: 400, body: { detail: String(error) } })
    void serve()
      .catch(failed)
      .then(({ status, body, location }) => {
        const nonce = randomBytes(12).toString('base64url')
        nonces.add(nonce)
        response.writeHead(status, { 'replay-nonce': nonce, ...(location && { location }) })
        response.end(typeof body === 'string' ? body : JSON.stringify(body))
      })
  })
  const address = freeAddress()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const directory = () => ({
    newNonce: `${origin}/nonce`,
    newAccount: `${origin}/account`,
    newOrder: `${origin}/new-order`,
    renewalInfo: `${origin}/renewal`,
  })
  return {
    directory: `${origin}/dir`,
    ca: issuer.root,
    address,
    orders,
    refusals,
    async close() {
      server.closeAllConnections()
      await once(server.close(), 'close')
      await issuer.close()
    },
  }
}

interface Answer {
  status: number
  body: object | string
  location?: string
}

const decode = (part: string): string => Buffer.from(part, 'base64url').toString()

/** Creates an issuer that signs certificate requests with openssl. */
async function createIssuer() {
  const made = await createCertificates()
  const root = await made.make({ name: 'Scripted authority', ca: true })
  const own = await made.make({ name: 'acme.test', hosts: ['127.0.0.1'], by: root, use: 'serverAuth' })
  await made.close()
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-scripted-'))
  const file = (name: string) => join(folder, name)
  await writeFile(file('ca.pem'), root.cert)
  await writeFile(file('ca.key'), root.key)
  await writeFile(file('ext'), 'authorityKeyIdentifier=keyid\n')
  let serial = 0
  return {
    root: root.cert,
    own,
    async sign(csr: string): Promise<string> {
      await writeFile(file('csr'), Buffer.from(csr, 'base64url'))
      // The first bit of each serial number is set, so its encoding starts with a zero octet (X.690 §8.3).
      const number = `0x87654321${String(++serial).padStart(4, '0')}`
      await execute('openssl', [
        'x509',
        '-req',
        '-inform',
        'DER',
        '-in',
        file('csr'),
        '-copy_extensions',
        'copy',
        '-days',
        '90',
        '-CA',
        file('ca.pem'),
        '-CAkey',
        file('ca.key'),
        '-set_serial',
        number,
        '-extfile',
        file('ext'),
        '-out',
        file('out'),
      ])
      return readFile(file('out'), 'utf8')
    },
    close: () => rm(folder, { recursive: true }),
  }
}
