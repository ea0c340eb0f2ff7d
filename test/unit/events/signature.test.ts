import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { Resend } from 'resend'
import { describe, expect, test } from 'vitest'
import { buildHeaders, generateSecret, signPayload } from '../../../appliance/events/signature.ts'

const id = 'msg_019aa7b1c1f07c6e8f6a3d1b2c4e5f60'
const payload = '{"type":"email.sent","data":{"subject":"Grüße ✓"}}'

describe('the webhook signature', () => {
  test('the webhook signature matches the published example', () => {
    // The test vector in Svix's documentation.
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const about = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', seconds: 1614265330, body: '{"test": 2432232314}' }
    expect(signPayload([secret], about)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  test('the webhook signature is accepted by the verifiers of Svix, Standard Webhooks and the official client', () => {
    const secret = generateSecret()
    const headers = buildHeaders({ id, type: 'x', payload, secret, oldSecret: null }, 'agent', Date.now())
    new Svix(secret).verify(payload, headers)
    expect(new StandardWebhook(secret).verify(payload, headers)).toEqual(JSON.parse(payload))
    const official = { id, timestamp: headers['svix-timestamp']!, signature: headers['svix-signature']! }
    const client = new Resend('re_x')
    expect(client.webhooks.verify({ payload, headers: official, webhookSecret: secret })).toEqual(
      JSON.parse(payload),
    )
    expect(() => new Svix(generateSecret()).verify(payload, headers)).toThrow()
    expect(() => new Svix(secret).verify(`${payload} `, headers)).toThrow()
  })

  test('the webhook signature uses both secrets during their overlap, and the new one afterwards', () => {
    const [secret, old] = [generateSecret(), generateSecret()]
    const now = Date.now()
    const signed = { id, type: 'x', payload, secret, oldSecret: { secret: old, until: now + 1 } }
    const during = buildHeaders(signed, 'agent', now)
    for (const one of [secret, old]) new Svix(one).verify(payload, during)
    const after = buildHeaders(signed, 'agent', now + 1)
    new Svix(secret).verify(payload, after)
    expect(() => new Svix(old).verify(payload, after)).toThrow()
  })

  test('a new webhook secret has 24 random bytes', () => {
    expect(generateSecret()).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
    expect(generateSecret()).not.toBe(generateSecret())
  })
})
