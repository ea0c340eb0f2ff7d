/** Webhook signatures: the scheme of Standard Webhooks and Svix (reference: wire format §5.4). */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'

/** Prefix of secrets; the rest is the key in padded base64. */
const PREFIX = 'whsec_'
const KEY_BYTES = 24

/** Generates a secret. */
export function generateSecret(): string {
  return PREFIX + randomBytes(KEY_BYTES).toString('base64')
}

/** Returns `v1,` and the base64 HMAC-SHA256 over id, time and body; one per secret, separated by spaces. */
export function signPayload(
  secrets: readonly string[],
  { id, seconds, body }: { id: string; seconds: number; body: string },
): string {
  const content = `${id}.${seconds}.${body}`
  const signatures = secrets.map((secret) => {
    const key = createSecretKey(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
  })
  return signatures.join(' ')
}

export interface SignableContent {
  id: string
  type: string
  payload: string
  secret: string
  /** The previous secret, which is also used for signing until that time; null if there is none. */
  oldSecret: { secret: string; until: number } | null
}

/**
 * Returns the header fields of an attempt, signed for this time: receivers refuse a time more than five minutes off.
 */
export function buildHeaders(signed: SignableContent, agent: string, now: number): Record<string, string> {
  const { id, payload: body, secret, oldSecret } = signed
  const seconds = Math.floor(now / 1000)
  const secrets = oldSecret && oldSecret.until > now ? [secret, oldSecret.secret] : [secret]
  const signature = signPayload(secrets, { id, seconds, body })
  return {
    'content-type': 'application/json',
    accept: '*/*',
    'accept-encoding': 'identity',
    'user-agent': agent,
    'svix-id': id,
    'svix-timestamp': String(seconds),
    'svix-signature': signature,
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signature,
  }
}
