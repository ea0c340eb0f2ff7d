/** Signatures of webhooks: the scheme of Standard Webhooks and Svix (reference: wire format §5.4). */
import { createHmac, randomBytes } from 'node:crypto'

/** What secrets begin with; the rest is the key in padded base64. */
const PREFIX = 'whsec_'
const KEY_BYTES = 24

/** A new secret. */
export function newSecret(): string {
  return PREFIX + randomBytes(KEY_BYTES).toString('base64')
}

/** `v1,` and the base64 of HMAC-SHA256 over id, time and body; one for each secret, with spaces between. */
export function sign(
  secrets: readonly string[],
  { id, seconds, body }: { id: string; seconds: number; body: string },
): string {
  const content = `${id}.${seconds}.${body}`
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
  })
  return signatures.join(' ')
}

export interface Signed {
  id: string
  type: string
  payload: string
  secret: string
  /** Signs too until then. */
  oldSecret: { secret: string; until: number } | null
}

/** The header fields of one attempt, signed for this moment: receivers refuse a time that is five minutes off. */
export function headersFor(signed: Signed, agent: string, now: number): Record<string, string> {
  const { id, payload: body, secret, oldSecret } = signed
  const seconds = Math.floor(now / 1000)
  const secrets = oldSecret && oldSecret.until > now ? [secret, oldSecret.secret] : [secret]
  const signature = sign(secrets, { id, seconds, body })
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
