import { generateKeyPairSync } from 'node:crypto'
import * as fc from '../../world/fast-check.ts'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { describe, expect, test } from 'vitest'
import { hashBody } from '../../../appliance/signing/canonical.ts'
import { createSigner, type SigningKey } from '../../../appliance/signing/signing.ts'
import { costOf } from '../../world/cost.ts'

const now = 1_790_000_000_000

/** Creates a key, and the TXT record from which mailauth verifies signatures in these tests. */
function makeKey(algorithm: SigningKey['algorithm'], selector: string): { key: SigningKey; record: string } {
  const pair =
    algorithm === 'rsa-sha256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ed25519')
  const spki = pair.publicKey.export({ type: 'spki', format: 'der' })
  const [k, p] = algorithm === 'rsa-sha256' ? ['rsa', spki] : ['ed25519', spki.subarray(-32)]
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'der' })
  return {
    key: { id: selector, domain: 'example.com', selector, algorithm, privateKey },
    record: `v=DKIM1; k=${k}; p=${p.toString('base64')}`,
  }
}

const rsa = makeKey('rsa-sha256', 'rsa1')
const ed = makeKey('ed25519-sha256', 'ed1')
const records: Record<string, string> = {
  'rsa1._domainkey.example.com': rsa.record,
  'ed1._domainkey.example.com': ed.record,
}

interface Result {
  status: { result: string }
}

/** Returns one word per signature: pass, fail, neutral … */
async function verify(message: Uint8Array): Promise<string[]> {
  const resolver = (name: string): Promise<string[][]> => {
    const record = records[name]
    if (record === undefined) return Promise.reject(Object.assign(new Error('absent'), { code: 'ENOTFOUND' }))
    return Promise.resolve([[record]])
  }
  const report = (await dkimVerify(Buffer.from(message), {
    resolver,
    curTime: new Date(now),
    strict: true,
  })) as { results: Result[] }
  return report.results.map((result) => result.status.result)
}

const signer = createSigner()
const both = [rsa.key, ed.key]
const sign = async (text: string | Buffer): Promise<Buffer> => {
  const message = typeof text === 'string' ? Buffer.from(text, 'utf8') : text
  return Buffer.concat([await signer.sign(message, both, now), message])
}

const header = [
  'From: Alice <alice@example.com>',
  'To: bob@example.org',
  'Subject: Hello',
  'Date: Wed, 1 Jul 2026 10:00:00 +0000',
  'Message-ID: <1@example.com>',
].join('\r\n')

const passes = ['pass', 'pass']
const fails = ['fail', 'fail']

describe('valid signatures', () => {
  const messages: [string, string][] = [
    ['an ordinary message', `${header}\r\n\r\nHello, world.\r\n`],
    ['a body with trailing blank lines', `${header}\r\n\r\nHello\r\n\r\n\r\n\r\n`],
    ['an empty body', `${header}\r\n\r\n`],
    ['a body of blank lines only', `${header}\r\n\r\n\r\n\r\n\r\n`],
    ['a message that ends with its header', `${header}\r\n`],
    ['lines of bare white space', `${header}\r\n\r\n \r\n\t \r\ntext \t \r\n  \r\n`],
    ['leading and repeated white space', `${header}\r\n\r\n  a \t  b\r\n\tc\r\n`],
    ['a body without a final line end', `${header}\r\n\r\nno end`],
    ['a body that ends with white space and no line end', `${header}\r\n\r\ntext  `],
    ['lines that begin with dots', `${header}\r\n\r\n.\r\n..\r\n.text\r\n`],
    ['folded header fields', `${header}\r\nReferences: <a@b>\r\n <c@d>\r\n\t<e@f>\r\nX: y\r\n\r\nHello\r\n`],
    [
      'duplicate header fields',
      `${header}\r\nList-Help: one\r\nList-Help: two\r\nSubject: Second\r\n\r\nHello\r\n`,
    ],
    ['an 8-bit UTF-8 header (SMTPUTF8)', `${header}\r\nCc: Zoë <zoë@exämple.org>\r\n\r\nGrüße \u00a0 ☃\r\n`],
    ['strange spacing around the colon', 'From : a@example.com\r\nsUbJeCt:   x  \r\n y \r\n\r\nHello\r\n'],
    ['an empty field', `${header}\r\nReply-To:\r\nCc: \r\n\r\nHello\r\n`],
  ]
  test.each(messages)('%s', async (_, message) => {
    expect(await verify(await sign(message))).toEqual(passes)
  })

  test('both signatures verify for bytes that are not UTF-8', async () => {
    const message = Buffer.concat([
      Buffer.from(`${header}\r\nFeedback-ID: `),
      Buffer.of(0xe4, 0xa0, 0xff),
      Buffer.from('\r\n\r\n'),
      Buffer.of(0xff, 0x00, 0x20, 0x85),
      Buffer.from('\r\n'),
    ])
    expect(await verify(await sign(message))).toEqual(passes)
  })

  test('both signatures verify for any header and any body', async () => {
    const word = fc.string({
      unit: fc.constantFrom('a', 'B', ' ', '\t', 'é', '.', ':', ';', '=', '0'),
      maxLength: 12,
    })
    const folded = fc
      .array(word, { minLength: 1, maxLength: 3 })
      .map((parts) => parts.map((part) => `x${part}`).join('\r\n '))
    const names = fc.constantFrom(
      'Subject',
      'To',
      'List-Unsubscribe',
      'X-Other',
      'cc',
      'References',
      'Content-Type',
    )
    const field = fc.tuple(names, folded).map(([name, value]) => `${name}: ${value}\r\n`)
    const line = fc.string({ unit: fc.constantFrom('a', ' ', '\t', '.', 'ü', '=', '-'), maxLength: 8 })
    const body = fc
      .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
      .map(([lines, end]) => lines.join('\r\n') + (end ? '\r\n' : ''))
    await fc.assert(
      fc.asyncProperty(fc.array(field, { maxLength: 6 }), body, async (fields, text) => {
        const signed = await sign(`From: a@example.com\r\n${fields.join('')}\r\n${text}`)
        expect(await verify(signed)).toEqual(passes)
      }),
      { numRuns: 150 },
    )
  })
})

describe('broken signatures', () => {
  const message = `${header}\r\nList-Unsubscribe: <https://example.com/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n\r\nHello\r\n`
  const added = [
    'Subject',
    'From',
    'To',
    'Cc',
    'Reply-To',
    'Date',
    'Message-ID',
    'MIME-Version',
    'Content-Type',
    'Content-Transfer-Encoding',
  ]
  test.each(added)('a signature fails when someone adds a %s', async (name) => {
    const signed = await sign(message)
    const value = name === 'From' ? 'Mallory <mallory@example.com>' : 'text/html'
    const tampered = Buffer.concat([Buffer.from(`${name}: ${value}\r\n`), signed])
    expect(await verify(tampered)).toEqual(fails)
  })

  test.each([
    ['changes the one-click field', 'One-Click', 'Two-Click'],
    ['changes the unsubscription address', 'example.com/u', 'example.com/v'],
    ['changes the subject', 'Subject: Hello', 'Subject: Hallo'],
  ])('%s', async (_, from, to) => {
    const signed = (await sign(message)).toString('latin1').replace(from, to)
    expect(await verify(Buffer.from(signed, 'latin1'))).toEqual(fails)
  })

  test('a signature fails when someone adds text to the body', async () => {
    expect(await verify(Buffer.concat([await sign(message), Buffer.from('more\r\n')]))).not.toEqual(passes)
  })
})

describe('the DKIM-Signature field', () => {
  test('the DKIM-Signature field has lines of at most 78 columns, ends with CRLF and has no l=', async () => {
    const text = Buffer.from(
      await signer.sign(Buffer.from(`${header}\r\n\r\nHello\r\n`), both, now),
    ).toString('latin1')
    expect(text.endsWith('\r\n')).toBe(true)
    expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(78)
    expect(text).not.toMatch(/[; ]l=/)
    expect(text.match(/^DKIM-Signature: v=1; a=(rsa|ed25519)-sha256; c=relaxed\/relaxed;/gm)).toHaveLength(2)
    expect(text).toContain(' t=1790000000;')
  })

  test('the DKIM-Signature field lists each oversigned field one extra time, and others only if present', async () => {
    const message = `${header}\r\nFeedback-ID: 1:2:3:x\r\n\r\nHello\r\n`
    const text = Buffer.from(await signer.sign(Buffer.from(message), [ed.key], now)).toString('latin1')
    const names = /h=([^;]*);/.exec(text)![1]!.replaceAll(/\s/g, '').split(':')
    expect(names).toEqual([
      'from',
      'from',
      'reply-to',
      'to',
      'to',
      'cc',
      'subject',
      'subject',
      'date',
      'date',
      'message-id',
      'message-id',
      'mime-version',
      'content-type',
      'content-transfer-encoding',
      'feedback-id',
    ])
  })

  test('the DKIM-Signature field is the same for a message that is a view of a larger buffer', async () => {
    const message = Buffer.from(`${header}\r\n\r\nHello\r\n`)
    const view = new Uint8Array(Buffer.concat([Buffer.from('xx'), message])).subarray(2)
    expect(await signer.sign(view, [ed.key], now)).toEqual(await signer.sign(message, [ed.key], now))
  })
})

describe('signing keys', () => {
  test('an unreadable key makes signing fail, even if other keys are readable', async () => {
    const broken = { ...rsa.key, id: 'broken', privateKey: Buffer.from('nothing') }
    await expect(signer.sign(Buffer.from(`${header}\r\n\r\n`), [ed.key, broken], now)).rejects.toThrow()
  })

  test('without a key, no field is added', async () => {
    expect(await signer.sign(Buffer.from(`${header}\r\n\r\n`), [], now)).toHaveLength(0)
  })
})

describe('published DKIM examples', () => {
  test('an empty body has the hash given in RFC 6376 §3.4.4', async () => {
    const empty = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    expect(await hashBody(Buffer.alloc(0))).toBe(empty)
    expect(await hashBody(Buffer.from('\r\n\r\n \r\n'))).toBe(empty)
  })

  test('the body of RFC 8463 appendix A has the hash stated in its signatures', async () => {
    const body = 'Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n'
    expect(await hashBody(Buffer.from(body))).toBe('2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=')
  })

  test('a signature with the key of RFC 8463 appendix A verifies with its public record', async () => {
    const seed = Buffer.from('nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=', 'base64')
    const privateKey = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
    records['brisbane._domainkey.football.example.com'] =
      'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
    const message = [
      'From: Joe SixPack <joe@football.example.com>',
      'To: Suzie Q <suzie@shopping.example.net>',
      'Subject: Is dinner ready?',
      'Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)',
      'Message-ID: <20030712040037.46341.5F8J@football.example.com>',
      '',
      'Hi.',
      '',
      'We lost the game.  Are you hungry yet?',
      '',
      'Joe.',
      '',
    ].join('\r\n')
    const key: SigningKey = {
      id: 'rfc8463',
      domain: 'football.example.com',
      selector: 'brisbane',
      algorithm: 'ed25519-sha256',
      privateKey,
    }
    const field = await signer.sign(Buffer.from(message), [key], now)
    expect(await verify(Buffer.concat([field, Buffer.from(message)]))).toEqual(['pass'])
  })
})

describe('signing large messages', () => {
  test('a 40 MB body is signed in under 5 s, and verifies', async () => {
    const body = Buffer.alloc(40 * 1024 * 1024, `${'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo '.repeat(2)}\r\n`)
    const message = Buffer.concat([Buffer.from(`${header}\r\n\r\n`), body])
    let field: Uint8Array = Buffer.alloc(0)
    const cost = await costOf(async () => (field = await signer.sign(message, both, now)))
    expect(await verify(Buffer.concat([field, message]))).toEqual(passes)
    expect(cost).toBeLessThan(5000) // about 300 ms; the bound only catches quadratic cost
  })

  test('20 MB of white space and line breaks do not take quadratic time', async () => {
    const blanks = await costOf(() => hashBody(Buffer.alloc(10 * 1024 * 1024, ' ')))
    const ends = Buffer.concat([Buffer.alloc(10 * 1024 * 1024, '\r\n'), Buffer.from('x')])
    expect(blanks + (await costOf(() => hashBody(ends)))).toBeLessThan(5000)
  })

  test('hashing a large body in slices does not change the hash', async () => {
    const text = 'a \r\n'.repeat(4 * 1024 * 1024 - 1) // a CRLF lies across the limits of the turns
    const whole = await hashBody(Buffer.from(`b${text}`))
    const { createHash } = await import('node:crypto')
    expect(whole).toBe(
      createHash('sha256')
        .update(`ba\r\n${'a\r\n'.repeat(4 * 1024 * 1024 - 2)}`)
        .digest('base64'),
    )
  })
})
