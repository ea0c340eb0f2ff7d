import { describe, expect, test } from 'vitest'
import { hashToken, generateApiKey } from '../../../appliance/senders/keys.ts'
import { validateDomainName, isReturnPathLabel } from '../../../appliance/senders/names.ts'
import { buildExpectedRecords } from '../../../appliance/senders/records.ts'
import type { DkimKeyState } from '../../../appliance/storage/storage.ts'

const active = { state: 'active' as const, retireAt: null }

const keys = [{ selector: 'posthaste', algorithm: 'rsa-sha256' as const, publicKey: 'AAAA', ...active }]
const host = { hostname: 'mail.example.net', sourceIps: [] }

describe('the expected records', () => {
  test('the expected records are DKIM, return path and DMARC', () => {
    expect(buildExpectedRecords({ id: 'd1', name: 'example.com', returnPath: 'send' }, keys, host)).toEqual([
      {
        key: 'DKIM posthaste',
        record: 'DKIM',
        type: 'TXT',
        name: 'posthaste._domainkey',
        fqdn: 'posthaste._domainkey.example.com',
        value: 'v=DKIM1; k=rsa; p=AAAA',
        priority: null,
        required: true,
        label: null,
        advice: null,
        served: false,
      },
      {
        key: 'SPF MX',
        record: 'SPF',
        type: 'MX',
        name: 'send',
        fqdn: 'send.example.com',
        value: 'mail.example.net',
        priority: 10,
        required: true,
        label: null,
        advice: null,
        served: false,
      },
      {
        key: 'SPF',
        record: 'SPF',
        type: 'TXT',
        name: 'send',
        fqdn: 'send.example.com',
        value: 'v=spf1 a:mail.example.net ~all',
        priority: null,
        required: true,
        label: null,
        advice: null,
        served: false,
      },
      {
        key: 'DMARC',
        record: 'DMARC',
        type: 'TXT',
        name: '_dmarc',
        fqdn: '_dmarc.example.com',
        value: 'v=DMARC1; p=none; rua=mailto:reports-6911c1b5ce4ddbcd6f20@send.example.com',
        priority: null,
        required: false,
        label: 'recommended',
        advice:
          'Recommended: large mailbox providers expect a DMARC policy, however strict. The address in rua= receives daily reports about mail from the domain, shown under Reports. If you have a record, add the address to it.',
        served: false,
      },
    ])
  })

  test('a receiving domain has a record that requests TLS reports', () => {
    const records = buildExpectedRecords(
      { id: 'd1', name: 'example.com', returnPath: 'send', receiving: true },
      keys,
      host,
    )
    expect(records.slice(-2)).toMatchObject([
      { key: 'Receiving MX', name: 'example.com' },
      {
        key: 'TLS-RPT',
        type: 'TXT',
        fqdn: '_smtp._tls.example.com',
        required: false,
        label: 'optional',
        value: 'v=TLSRPTv1; rua=mailto:reports-6911c1b5ce4ddbcd6f20@send.example.com',
      },
    ])
  })

  test('record names are relative to the registrable zone', () => {
    const names = (name: string) =>
      buildExpectedRecords({ id: 'd1', name, returnPath: 'out' }, keys, host).map((record) => record.name)
    expect(names('news.example.co.uk')).toEqual([
      'posthaste._domainkey.news',
      'out.news',
      'out.news',
      '_dmarc.news',
    ])
    expect(names('example.test')).toEqual(['posthaste._domainkey', 'out', 'out', '_dmarc'])
  })

  test('the SPF record lists the sending IPs if any are configured', () => {
    const sourceIps = ['192.0.2.1', '2001:db8::1']
    const [, , spf] = buildExpectedRecords({ id: 'd1', name: 'example.com', returnPath: 'send' }, keys, {
      ...host,
      sourceIps,
    })
    expect(spf!.value).toBe('v=spf1 ip4:192.0.2.1 ip6:2001:db8::1 ~all')
  })

  test('only the signing RSA key is required, and the other keys are recommended', () => {
    const key = (selector: string, state: DkimKeyState, algorithm: 'rsa-sha256' | 'ed25519-sha256') => ({
      selector,
      state,
      algorithm,
      publicKey: 'AA==',
      retireAt: state === 'retiring' ? Date.UTC(2026, 0, 8) : null,
    })
    const all = [
      key('old', 'retired', 'rsa-sha256'),
      key('last', 'retiring', 'rsa-sha256'),
      key('short', 'pending', 'ed25519-sha256'),
      key('now', 'active', 'rsa-sha256'),
      key('next', 'pending', 'rsa-sha256'),
    ]
    const dkim = buildExpectedRecords(
      { id: 'd1', name: 'example.com', returnPath: 'send' },
      all,
      host,
    ).filter(({ record }) => record === 'DKIM')
    expect(dkim.map((record) => [record.key, record.label, record.advice])).toEqual([
      ['DKIM now', null, null],
      [
        'DKIM last',
        'old key',
        'Keep this record until 2026-01-08: receivers may still verify mail signed with it.',
      ],
      [
        'DKIM short',
        'optional',
        'Optional: once this record is found in DNS, mail gets a second, shorter signature (RFC 8463).',
      ],
      ['DKIM next', 'next key', 'The next key: Posthaste signs with it once this record is found in DNS.'],
    ])
  })

  test('distinguishes a second DKIM key from the first', () => {
    const second = { selector: 'next', algorithm: 'ed25519-sha256' as const, publicKey: 'BBBB', ...active }
    const records = buildExpectedRecords(
      { id: 'd1', name: 'example.com', returnPath: 'send' },
      [...keys, second],
      host,
    )
    expect(records[1]).toMatchObject({
      key: 'DKIM next',
      fqdn: 'next._domainkey.example.com',
      value: 'v=DKIM1; k=ed25519; p=BBBB',
    })
  })
})

describe('the name of a domain', () => {
  test.each([
    ['example.com', 'example.com'],
    [' Example.COM. ', 'example.com'],
    ['news.example.co.uk', 'news.example.co.uk'],
    ['münchen.de', 'xn--mnchen-3ya.de'],
    ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
    ['faß.de', 'xn--fa-hia.de'],
    ['acme.test', 'acme.test'],
    ['acme.example', 'acme.example'],
    ['acme.localhost', 'acme.localhost'],
    ['1.example.com', '1.example.com'],
  ])('normalizes the domain name %s to %s', (text, name) => {
    expect(validateDomainName(text)).toEqual({ ok: true, name })
  })

  test.each([
    '',
    '.',
    'localhost',
    'com',
    'co.uk',
    'test',
    '192.0.2.1',
    '0x7f.1',
    '[::1]',
    '2001:db8::1',
    'a@example.com',
    'https://example.com',
    'example.com/path',
    'ex%61mple.com',
    'exa mple.com',
    'a..example.com',
    '-a.example.com',
    'a-.example.com',
    'a_b.example.com',
    `${'a'.repeat(64)}.example.com`,
    `${'a.'.repeat(90)}example.com`,
  ])('rejects the domain name %j', (text) => {
    expect(validateDomainName(text)).toMatchObject({ ok: false })
  })

  test('the error for a public suffix contains the suffix', () => {
    expect(validateDomainName('co.uk')).toEqual({
      ok: false,
      expected: 'a domain below the public suffix co.uk',
    })
  })

  test('checks the label of a return path', () => {
    expect(['send', 'out.mail', 'a-1'].map(isReturnPathLabel)).toEqual([true, true, true])
    expect(['', '.', '_send', 'a b', '-a', 'a.', 'send\n'].map(isReturnPathLabel)).toEqual(
      Array(7).fill(false),
    )
  })
})

describe('tokens', () => {
  test('tokens have the right format and are unique', () => {
    const tokens = Array.from({ length: 200 }, generateApiKey)
    for (const token of tokens) expect(token).toMatch(/^re_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$/)
    expect(new Set(tokens).size).toBe(200)
  })

  test('tokens are stored as SHA-256 hashes', () => {
    expect(hashToken('re_abc')).toMatch(/^[0-9a-f]{64}$/)
    expect(hashToken('re_abc')).not.toBe(hashToken('re_abd'))
  })
})
