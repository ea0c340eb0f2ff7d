/** What proves to an authority that a name is ours, as long as it asks. */
import { createHash } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { TLS_SERVER } from '../wire/certificates.ts'
import { selfSignedPair } from '../wire/self-signed.ts'
import type { Clock } from '../clock/clock.ts'
import type { Hook } from './hook.ts'

/** The ways of proving: RFC 8555 §8.3, RFC 8737, RFC 8555 §8.4. */
export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

/** What the listeners ask. */
export interface ChallengeAnswers {
  /** What stands at /.well-known/acme-challenge/<token>; undefined for a token that nobody asked for. */
  http(token: string): string | undefined
  /** Shown to who speaks `acme-tls/1` and asks for this name. */
  tls(name: string): SecureContext | undefined
  /** Whether somebody may come and speak `acme-tls/1` now. */
  expected(): boolean
}

export interface Challenges extends ChallengeAnswers {
  /** Puts the answer where it is looked for; the returned function takes it away again. Rejects where a hook fails. */
  present(
    type: ChallengeType,
    name: string,
    token: string,
    authorization: string,
  ): Promise<() => Promise<void>>
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** @param hook publishes DNS records; undefined where dns-01 is not used */
export function createChallenges(clock: Clock, hook: Hook | undefined): Challenges {
  const tokens = new Map<string, string>()
  const contexts = new Map<string, SecureContext>()
  return {
    http: (token) => tokens.get(token),
    tls: (name) => contexts.get(name.toLowerCase()),
    expected: () => contexts.size > 0,
    async present(type, name, token, authorization) {
      if (type === 'http-01') {
        tokens.set(token, authorization)
        return async () => void tokens.delete(token)
      }
      if (type === 'tls-alpn-01') {
        const pair = await selfSignedPair([name], clock.now(), sha256(authorization))
        const context = createSecureContext({ ...pair, ...TLS_SERVER })
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
