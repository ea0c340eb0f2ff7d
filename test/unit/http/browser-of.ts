import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { TOTP, Secret } from 'otpauth'
import { ask, type Answer } from './harness.ts'

/** A browser from the server's point of view: keeps cookies, and identifies as our own page. */
export interface Browser {
  call: (method: string, path: string, body?: unknown) => Promise<Answer>
  /** Its current cookies, by name. */
  cookies: Map<string, string>
}

export function openBrowser(url: string): Browser {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async call(method, path, body) {
      const held = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const own = { 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' }
      const answer = await ask(url + path, method, body, { ...own, ...(held !== '' && { cookie: held }) })
      for (const line of answer.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
        if (value === '') cookies.delete(name!)
        else cookies.set(name!, value!)
      }
      return answer
    },
  }
}

/**
 * Returns the code that an authenticator app shows.
 * @param at Unix milliseconds
 */
export const codeAt = (base32: string, at: number): string =>
  new TOTP({ secret: Secret.fromBase32(base32) }).generate({ timestamp: at })

const bytes = (text: string) => Buffer.from(text, 'base64url')
const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest()

/** A software passkey device with one key (ES256, attestation `none`). */
export class Device {
  readonly #keys: { publicKey: KeyObject; privateKey: KeyObject } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
  })
  readonly id = sha256(this.#keys.publicKey.export({ type: 'spki', format: 'der' }))
  readonly origin: string
  readonly rpId: string
  counter = 0
  /** Whether it verifies its user. */
  verifies = true
  userHandle: string | undefined

  constructor(origin: string) {
    this.origin = origin
    this.rpId = new URL(origin).hostname
  }

  #client(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false }))
  }

  #authenticator(flags: number): Buffer {
    this.counter += 1
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.counter)
    return Buffer.concat([sha256(this.rpId), Buffer.from([flags | (this.verifies ? 4 : 0)]), counter])
  }

  /** Returns the result of `navigator.credentials.create`. */
  create(options: { challenge: string; user: { id: string } }): object {
    this.userHandle = options.user.id
    const jwk = this.#keys.publicKey.export({ format: 'jwk' })
    // COSE_Key (RFC 9052 §7): kty EC2, alg ES256, crv P-256, x, y.
    const cose = Buffer.concat([
      Buffer.from('a5010203262001215820', 'hex'),
      bytes(jwk.x!),
      Buffer.from('225820', 'hex'),
      bytes(jwk.y!),
    ])
    const length = Buffer.from([0, this.id.length])
    const data = Buffer.concat([this.#authenticator(0x41), Buffer.alloc(16), length, this.id, cose])
    // CBOR: { fmt: "none", attStmt: {}, authData }
    const head = Buffer.from('a363666d74646e6f6e656761747453746d74a06861757468446174615900', 'hex')
    const attestation = Buffer.concat([head, Buffer.from([data.length]), data])
    return this.#credential({
      clientDataJSON: this.#client('webauthn.create', options.challenge).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    })
  }

  /** Returns the result of `navigator.credentials.get`. */
  get(options: { challenge: string }): object {
    const client = this.#client('webauthn.get', options.challenge)
    const data = this.#authenticator(0x01)
    const signature = sign('sha256', Buffer.concat([data, sha256(client)]), this.#keys.privateKey)
    return this.#credential({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: this.userHandle,
    })
  }

  #credential(response: object): object {
    const id = this.id.toString('base64url')
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }
}
