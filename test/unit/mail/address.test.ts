import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { formatMailbox, needsSmtpUtf8, parseMailbox } from '../../../appliance/mail/address.ts'
import { costOf } from '../../world/cost.ts'

const runs = 200
const read = (text: string) => parseMailbox(text)
const address = (text: string) => parseMailbox(text)?.address

describe('parseMailbox with valid input', () => {
  test('parses a plain address', () => {
    expect(read('bob@example.com')).toEqual({
      name: '',
      local: 'bob',
      domain: 'example.com',
      address: 'bob@example.com',
    })
  })

  test.each([
    ['Bob <bob@example.com>', 'Bob'],
    ['  Bob   Builder  < bob@example.com > ', 'Bob Builder'],
    ['<bob@example.com>', ''],
    ['"Builder, Bob" <bob@example.com>', 'Builder, Bob'],
    ['"say \\"hi\\" \\\\o/" <bob@example.com>', 'say "hi" \\o/'],
    ['[Staging] Acme: alerts <bob@example.com>', '[Staging] Acme: alerts'],
    ["O'Brien & Söhne 🚀 <bob@example.com>", "O'Brien & Söhne 🚀"],
    ['Acme, Inc. <bob@example.com>', 'Acme, Inc.'],
    ['Builder, Bob; Acme <bob@example.com>', 'Builder, Bob; Acme'],
    ['Bob (Builder) <bob@example.com>', 'Bob (Builder)'],
    [':-) <bob@example.com>', ':-)'],
    ['Bob "the \\ Builder" Jones <bob@example.com>', 'Bob "the \\ Builder" Jones'],
    ['Bob @ Acme <bob@example.com>', 'Bob @ Acme'],
  ])('parses the name in %s', (text, name) => {
    expect(read(text)).toEqual({ name, local: 'bob', domain: 'example.com', address: 'bob@example.com' })
  })

  test('accepts a domain in any case and script, and returns A-labels', () => {
    expect(address('bob@EXAMPLE.Com')).toBe('bob@example.com')
    expect(address('bob@müller.de')).toBe('bob@xn--mller-kva.de')
    expect(address('bob@日本。jp')).toBe('bob@xn--wgv71a.jp')
  })

  test('accepts a local part, and keeps its case', () => {
    expect(address('Bob.Builder+tag@example.com')).toBe('Bob.Builder+tag@example.com')
  })

  test('accepts a non-ASCII local part, which needs SMTPUTF8', () => {
    const mailbox = read('jörg@müller.de')!
    expect(mailbox.address).toBe('jörg@xn--mller-kva.de')
    expect(needsSmtpUtf8(mailbox)).toBe(true)
    expect(needsSmtpUtf8(read('bob@müller.de')!)).toBe(false)
  })

  test('accepts a quoted local part, and removes unnecessary quotes', () => {
    expect(address('"bob builder"@example.com')).toBe('"bob builder"@example.com')
    expect(address('"bob"@example.com')).toBe('bob@example.com')
    expect(address('"a@b"@example.com')).toBe('"a@b"@example.com')
    expect(address('"a\\b"@example.com')).toBe('ab@example.com')
  })

  test('accepts a local part of up to 64 octets', () => {
    expect(address(`${'a'.repeat(64)}@example.com`)).toBe(`${'a'.repeat(64)}@example.com`)
    expect(address(`${'a'.repeat(65)}@example.com`)).toBeUndefined()
    expect(address(`${'ö'.repeat(33)}@example.com`)).toBeUndefined()
  })

  test('accepts an address of up to 254 octets', () => {
    const domain = (length: number) => `${'a.'.repeat(90)}${'b'.repeat(length - 184)}.com`
    expect(address(`abc@${domain(240)}`)).toBe(`abc@${domain(240)}`)
    expect(address(`${'c'.repeat(13)}@${domain(240)}`)).toHaveLength(254)
    expect(address(`${'c'.repeat(14)}@${domain(240)}`)).toBeUndefined()
  })
})

describe('parseMailbox with invalid input', () => {
  test.each([
    '',
    ' ',
    'bob',
    '@example.com',
    'bob@',
    'bob@localhost',
    'bob@example',
    'bob@[192.0.2.1]',
    'bob@[IPv6:2001:db8::1]',
    'bob@192.0.2.1',
    'bob@0x7f.1',
    'bob@example..com',
    'bob@.example.com',
    'bob@example.com.',
    'bob@-example.com',
    'bob@exa_mple.com',
    'bob@exa mple.com',
    'bob@example.com/x',
    'bob@example.com:25',
    'bob@a%2eb.com',
    'bob@example.123',
    `bob@${'a'.repeat(64)}.com`,
    '.bob@example.com',
    'bob.@example.com',
    'b..ob@example.com',
    'bo b@example.com',
    'bo(comment)b@example.com',
    'bob@example.com (Bob)',
    'bob@example.com, eve@example.com',
    'bob@example.com <eve@example.com>',
    'bob@example.com, Eve <eve@example.com>',
    'bob @ example.com, Eve <eve@example.com>',
    'Bob <bob@example.com>, Eve <eve@example.com>',
    'bob(<eve@example.org>)@example.com',
    'Bob (<eve@example.org>) <bob@example.com>',
    'Friends: bob@example.com;',
    '<@relay.example:bob@example.com>',
    'a@b@example.com',
    'Bob <bob@example.com',
    'Bob bob@example.com>',
    'Bob <bob@example.com> trailing',
    '<<bob@example.com>>',
    '"Bob <bob@example.com>',
    '"Bob" Builder <bob@example.com>',
    '""@example.com',
  ])('rejects %j', (text) => {
    expect(read(text)).toBeUndefined()
  })

  test.each(['\r', '\n', '\r\n', '\0', '\t', '\u007f', '\u0085', '\u2028', '\u2029', '\ud800'])(
    'rejects the character %j in any position',
    (character) => {
      for (const text of [
        `${character}bob@example.com`,
        `bob@example.com${character}`,
        `bob@exam${character}ple.com`,
        `b${character}ob@example.com`,
        `Bob${character}Builder <bob@example.com>`,
        `"Bob${character}" <bob@example.com>`,
        `"b${character}ob"@example.com`,
        `Bob <bob@example.com>${character}Bcc: eve@example.com`,
      ])
        expect(read(text)).toBeUndefined()
    },
  )

  test('rejects invisible characters and unusual spaces in a local part', () => {
    for (const character of ['\u200b', '\u202e', '\u00a0', '\ufeff', '\u00ad'])
      expect(read(`bo${character}b@example.com`)).toBeUndefined()
  })

  test('rejects a name longer than 320 characters', () => {
    expect(read(`${'n'.repeat(320)} <bob@example.com>`)?.name).toHaveLength(320)
    expect(read(`${'n'.repeat(321)} <bob@example.com>`)).toBeUndefined()
  })

  test('rejects megabytes of pathological text quickly', async () => {
    const cost = await costOf(() => {
      expect(read(`${' '.repeat(1_000_000)}x`)).toBeUndefined()
      expect(read(`"${'\\'.repeat(1_000_000)}`)).toBeUndefined()
    })
    expect(cost).toBeLessThan(500)
  })
})

describe('parseMailbox with arbitrary text', () => {
  const pieces = fc.constantFrom(
    'a',
    'Bob',
    ' ',
    '"',
    '\\',
    '<',
    '>',
    '@',
    '.',
    ',',
    'ö',
    '🚀',
    '\r',
    '\n',
    '\0',
    '(',
    ')',
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(pieces, { maxLength: 25 }).map((parts) => parts.join('')),
    fc
      .tuple(fc.array(pieces, { maxLength: 8 }), fc.array(pieces, { minLength: 1, maxLength: 5 }))
      .map(([name, local]) => `${name.join('')} <${local.join('')}@example.com>`),
    fc
      .tuple(fc.string({ unit: 'grapheme' }), fc.emailAddress())
      .map(([name, email]) => `"${name.replaceAll(/["\\]/g, '\\$&')}" <${email}>`),
  )

  test('a parsed mailbox is unchanged by formatting and parsing it again', () => {
    fc.assert(
      fc.property(text, (given) => {
        const mailbox = parseMailbox(given)
        if (mailbox) expect(parseMailbox(formatMailbox(mailbox))).toEqual(mailbox)
      }),
      { numRuns: runs },
    )
  })

  test('a parsed mailbox has no CR, LF or NUL, and an address with exactly one domain', () => {
    fc.assert(
      fc.property(text, (given) => {
        const mailbox = parseMailbox(given)
        if (!mailbox) return
        for (const part of [mailbox.name, mailbox.address, formatMailbox(mailbox)])
          expect(part).not.toMatch(/[\r\n\0]/)
        expect(mailbox.address).toBe(`${mailbox.local}@${mailbox.domain}`)
        expect(mailbox.domain).toMatch(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/)
        expect(Buffer.byteLength(mailbox.address)).toBeLessThanOrEqual(254)
      }),
      { numRuns: runs },
    )
  })
})
