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
  tls(name: string): Promise<SecureContext | undefined>
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

/** The key of a response to tls-alpn-01 among the shared ones. It isn't a token, so no one can request it by HTTP. */
const alpnKey = (name: string): string => `tls-alpn-01:${name}`

export interface ChallengesDeps {
  clock: Clock
  /** Publishes DNS records; undefined where dns-01 is not used. */
  hook: Hook | undefined
  /** The validation method of this node's orders, and thus of other nodes. */
  type: ChallengeType
  /** Responses of all nodes; undefined if there is only one. */
  shared: SharedChallenges | undefined
}

/** Creates the publisher of challenge responses. */
export function createChallenges({ clock, hook, type: usual, shared }: ChallengesDeps): Challenges {
  const tokens = new Map<string, string>()
  const contexts = createContexts(clock)
  const names = new Map<string, string>()
  return {
    async http(token) {
      const own = tokens.get(token)
      return own === undefined && TOKEN.test(token) ? shared?.find(token) : own
    },
    async tls(asked) {
      const name = asked.toLowerCase()
      const authorization = names.get(name) ?? (await shared?.find(alpnKey(name)))
      return contexts.of(name, authorization)
    },
    expected: () => names.size > 0 || (shared !== undefined && usual === 'tls-alpn-01'),
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
        const lower = name.toLowerCase()
        await contexts.of(lower, authorization)
        if (shared) await shared.publish(alpnKey(lower), authorization)
        else names.set(lower, authorization)
        return async () => {
          names.delete(lower)
          await contexts.of(lower, undefined)
          // Another node may have taken over the order.
          if ((await shared?.find(alpnKey(lower))) === authorization) await shared?.withdraw(alpnKey(lower))
        }
      }
      if (!hook) throw new Error('dns-01 requires acme.hook, a program that publishes the record.')
      const value = sha256(authorization).toString('base64url')
      await hook('present', name, value)
      return () => hook('cleanup', name, value)
    },
  }
}

/** Keeps the certificates of challenges, because anyone can begin handshakes, and a key takes processor time. */
function createContexts(clock: Clock) {
  const made = new Map<string, { authorization: string; context: Promise<SecureContext> }>()
  const make = async (name: string, authorization: string): Promise<SecureContext> => {
    const pair = await createSelfSignedPair([name], clock.now(), sha256(authorization))
    return createSecureContext({ ...pair, ...TLS_SERVER_OPTIONS })
  }
  return {
    /** Returns the certificate for the challenge that is pending for a name, if there is one. */
    async of(name: string, authorization: string | undefined): Promise<SecureContext | undefined> {
      if (authorization === undefined) {
        made.delete(name)
        return undefined
      }
      let found = made.get(name)
      if (found?.authorization !== authorization) {
        found = { authorization, context: make(name, authorization) }
        made.set(name, found)
      }
      return found.context
    },
  }
}
