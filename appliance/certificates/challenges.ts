/** Publishes the responses that prove control of a name while the ACME server validates it. */
import { createHash } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { TLS_SERVER_OPTIONS } from '../wire/certificates.ts'
import { createSelfSignedPair } from '../wire/self-signed.ts'
import type { Clock } from '../clock/clock.ts'
import type { Hook } from './hook.ts'
import type { SharedChallenges } from './shared.ts'

/** The validation methods of RFC 8555 §8.3, RFC 8737 and RFC 8555 §8.4. */
export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

/** Responses that the listeners look up. */
export interface ChallengeResponses {
  /** The response for /.well-known/acme-challenge/<token>; undefined for an unknown token. */
  http(token: string): Promise<string | undefined>
  /** The certificate for a client that negotiates `acme-tls/1` and asks for this name (RFC 8737 §3). */
  tls(name: string): SecureContext | undefined
  /** Whether a validation over `acme-tls/1` may be under way. */
  expected(): boolean
}

export interface Challenges extends ChallengeResponses {
  /** Publishes the response; the returned function removes it. Rejects when the hook fails. */
  present(
    type: ChallengeType,
    name: string,
    token: string,
    authorization: string,
  ): Promise<() => Promise<void>>
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** Tokens as authorities make them (RFC 8555 §8.3). Others are not looked up. */
const TOKEN = /^[\w-]{16,256}$/

/**
 * Creates the publisher of challenge responses.
 * @param hook publishes DNS records; undefined where dns-01 is not used
 * @param shared responses of all nodes; undefined if there is only one
 */
export function createChallenges(
  clock: Clock,
  hook: Hook | undefined,
  shared: SharedChallenges | undefined,
): Challenges {
  const tokens = new Map<string, string>()
  const contexts = new Map<string, SecureContext>()
  return {
    async http(token) {
      const own = tokens.get(token)
      return own === undefined && TOKEN.test(token) ? shared?.find(token) : own
    },
    tls: (name) => contexts.get(name.toLowerCase()),
    expected: () => contexts.size > 0,
    async present(type, name, token, authorization) {
      if (type === 'http-01') {
        tokens.set(token, authorization)
        await shared?.publish(token, authorization)
        return async () => {
          tokens.delete(token)
          await shared?.withdraw(token)
        }
      }
      if (type === 'tls-alpn-01') {
        const pair = await createSelfSignedPair([name], clock.now(), sha256(authorization))
        const context = createSecureContext({ ...pair, ...TLS_SERVER_OPTIONS })
        contexts.set(name.toLowerCase(), context)
        return async () => void contexts.delete(name.toLowerCase())
      }
      if (!hook) throw new Error('dns-01 requires acme.hook, a program that publishes the record.')
      const value = sha256(authorization).toString('base64url')
      await hook('present', name, value)
      return () => hook('cleanup', name, value)
    },
  }
}
