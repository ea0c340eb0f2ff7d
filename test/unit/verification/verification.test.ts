import { generateKeyPairSync } from 'node:crypto'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { expect, test } from 'vitest'
import type { Resolver } from '../../../appliance/dns/dns.ts'
import type { Authentication } from '../../../appliance/mail/inbound.ts'
import { createSigner, type SigningKey } from '../../../appliance/signing/signing.ts'
import { verifyMessage, type VerifyArgs } from '../../../appliance/verification/verification.ts'
import { createTestClock } from '../../world/clock.ts'

/** Tests with real signatures and records: what passes, and the effect of a single change. */

const IP = '192.0.2.9'
const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
const key = (domain: string): SigningKey => ({
  id: domain,
  domain,
  selector: 's1',
  algorithm: 'rsa-sha256',
  privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'der' }),
})
const TEXTS: Record<string, string> = {
  'shop.example': `v=spf1 ip4:${IP} -all`,
  'list.example': `v=spf1 ip4:${IP} -all`,
  's1._domainkey.shop.example': `v=DKIM1; k=rsa; p=${publicKey}`,
  's1._domainkey.list.example': `v=DKIM1; k=rsa; p=${publicKey}`,
  '_dmarc.shop.example': 'v=DMARC1; p=reject',
}

let asked = 0
const resolver = {
  resolve(name: string, type: string) {
    asked++
    const text = type === 'TXT' ? TEXTS[name] : undefined
    return Promise.resolve(
      text === undefined
        ? { kind: 'absent', why: 'nxdomain', ttl: 1, authentic: false }
        : { kind: 'found', records: [text], ttl: 1, authentic: false },
    )
  },
} as unknown as Pick<Resolver, 'resolve'>

const MESSAGE = Buffer.from(
  [
    'From: Shop <hello@shop.example>',
    'To: box@acme.example',
    'Subject: Hello',
    'Date: Wed, 25 Nov 2026 10:00:00 +0000',
    'Message-ID: <1@shop.example>',
    '',
    'Your order.',
    '',
  ].join('\r\n'),
)
const signed = async (domain = 'shop.example'): Promise<Buffer> =>
  Buffer.concat([await createSigner().sign(MESSAGE, [key(domain)], Date.now()), MESSAGE])

const check = (bytes: Uint8Array, more: Partial<VerifyArgs> = {}): Promise<Authentication> =>
  verifyMessage(
    { bytes, ip: IP, helo: 'mx.shop.example', mailFrom: 'bounce@shop.example', ...more },
    { resolver, clock: createTestClock(), hostname: 'mail.acme.example' },
  )

const verdict = (result: string, domain: string | null = 'shop.example') => ({ result, domain })

test('a message sent by its domain passes SPF, DKIM and DMARC', async () => {
  expect(await check(await signed())).toEqual({
    spf: verdict('pass'),
    dkim: verdict('pass'),
    dmarc: verdict('pass'),
    arc: verdict('none', null),
  })
})

test('DMARC passes with an aligned signature or aligned SPF alone', async () => {
  const away = { ip: '198.51.100.1' }
  expect(await check(await signed(), away)).toMatchObject({
    spf: verdict('fail'),
    dkim: verdict('pass'),
    dmarc: verdict('pass'),
  })
  expect(await check(MESSAGE)).toMatchObject({
    spf: verdict('pass'),
    dkim: verdict('none', null),
    dmarc: verdict('pass'),
  })
})

test('a signature and SPF of another domain do not pass DMARC', async () => {
  expect(await check(await signed('list.example'), { mailFrom: 'bounce@list.example' })).toMatchObject({
    spf: verdict('pass', 'list.example'),
    dkim: verdict('pass', 'list.example'),
    dmarc: verdict('fail'),
  })
})

test('a changed body, field or From fails DKIM and DMARC', async () => {
  const away = { ip: '198.51.100.1' }
  const text = (await signed()).toString('latin1')
  for (const [from, to] of [
    ['Your order.', 'Your 0rder.'],
    ['Subject: Hello', 'Subject: Hullo'],
    ['hello@shop', 'boss@shop'],
  ] as const)
    expect(await check(Buffer.from(text.replace(from, to), 'latin1'), away)).toMatchObject({
      dmarc: verdict('fail'),
      dkim: { result: expect.stringMatching(/^(fail|neutral)$/) as string },
    })
})

test('an ARC chain is verified, and a broken one fails', async () => {
  const message = await signed()
  const seal = await sealMessage(message, {
    signingDomain: 'list.example',
    selector: 's1',
    privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    authResults: 'list.example; dkim=pass header.d=shop.example',
    cv: 'none',
  })
  const sealed = Buffer.concat([seal, message])
  expect(seal.toString()).toMatch(/^ARC-Seal:/m)
  expect(await check(sealed)).toMatchObject({ arc: verdict('pass', null), dmarc: verdict('pass') })
  const broken = sealed.toString('latin1').replace('Your order.', 'Your 0rder.')
  expect(await check(Buffer.from(broken, 'latin1'))).toMatchObject({ arc: verdict('fail', null) })
})

test('checks at most ten of 500 signatures, those of the From domain first', async () => {
  const good = (await signed()).subarray(0, -MESSAGE.length).toString('latin1')
  const wrong = Array.from({ length: 500 }, (_, n) => good.replaceAll('shop.example', `d${n}.example`))
  asked = 0
  const found = await check(Buffer.concat([Buffer.from(wrong.join('') + good, 'latin1'), MESSAGE]))
  expect(found).toMatchObject({ dkim: verdict('pass'), dmarc: verdict('pass') })
  expect(asked).toBeLessThanOrEqual(60)
})
