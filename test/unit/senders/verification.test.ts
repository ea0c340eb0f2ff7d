import { describe, expect, test } from 'vitest'
import type { Answer } from '../../../appliance/dns/dns.ts'
import { buildExpectedRecords, type ExpectedRecord } from '../../../appliance/senders/records.ts'
import { evaluateRecord, type CommonMistakes } from '../../../appliance/senders/verification.ts'
import type { RecordStatus } from '../../../appliance/storage/storage.ts'

const active = { state: 'active' as const, retireAt: null }

/** 392 characters, like the key of a real 2048-bit record. */
const publicKey = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA'.padEnd(
  392,
  'abcdefghijklmnopqrstuvwxyz0123456789+/',
)
const otherKey = `${publicKey.slice(0, 60)}X${publicKey.slice(61, -1)}Y`

const recordsOf = (sourceIps: string[]) =>
  buildExpectedRecords(
    { id: 'd1', name: 'example.com', returnPath: 'send', receiving: true },
    [{ selector: 'posthaste', algorithm: 'rsa-sha256', publicKey, ...active }],
    { hostname: 'mail.example.net', sourceIps },
  )
const byKey = (key: string, sourceIps: string[] = []): ExpectedRecord =>
  recordsOf(sourceIps).find((record) => record.key === key)!

const nowhere: CommonMistakes = { misplaced: null, cname: null }
const base = { ttl: 300, authentic: false }
const found = (...records: string[]): Answer<'TXT'> => ({ kind: 'found', records, ...base })
const nothing = (why: 'nxdomain' | 'nodata'): Answer<'TXT'> => ({ kind: 'absent', why, ...base })
const failed: Answer<'TXT'> = { kind: 'failed', note: 'timeout' }

type Row = [what: string, answer: Answer<'TXT'>, status: RecordStatus, note: RegExp | null]

function judges(record: ExpectedRecord, rows: Row[]) {
  test.each(rows)('evaluates a record correctly: %s', (_, answer, status, note) => {
    const check = evaluateRecord(record, { type: 'TXT', answer, elsewhere: nowhere })
    expect(check.status).toBe(status)
    expect(check.key).toBe(record.key)
    expect(check.found).toEqual(answer.kind === 'found' ? answer.records : [])
    if (note === null) expect(check.note).toBeNull()
    else expect(check.note).toMatch(note)
  })
}

const half = publicKey.length / 2
describe('a DKIM record', () => {
  judges(byKey('DKIM posthaste'), [
    ['as shown', found(`v=DKIM1; k=rsa; p=${publicKey}`), 'verified', null],
    ['without spaces', found(`v=DKIM1;k=rsa;p=${publicKey}`), 'verified', null],
    ['with a semicolon at the end', found(`v=DKIM1; k=rsa; p=${publicKey};`), 'verified', null],
    ['without version and type', found(`p=${publicKey}`), 'verified', null],
    ['in another order', found(`v=DKIM1; p=${publicKey}; k=rsa`), 'verified', null],
    [
      'with spaces inside the key',
      found(`v=DKIM1; p=${publicKey.slice(0, half)} ${publicKey.slice(half)}`),
      'verified',
      null,
    ],
    [
      'with spaces around the equals signs',
      found(`v = DKIM1 ; k = rsa ; p = ${publicKey}`),
      'verified',
      null,
    ],
    [
      'with harmless tags',
      found(`v=DKIM1; t=y:s; s=email; h=sha1:sha256; n=note; p=${publicKey}`),
      'verified',
      null,
    ],
    [
      'another key',
      found(`v=DKIM1; k=rsa; p=${otherKey}`),
      'failed',
      /^p= is a different key: MIIBIjAN….{8} instead of MIIBIjAN….{8}\. Replace/,
    ],
    [
      'cut off',
      found(`v=DKIM1; k=rsa; p=${publicKey.slice(0, 237)}`),
      'failed',
      /truncated after 237 of 392 characters/,
    ],
    [
      'revoked',
      found('v=DKIM1; k=rsa; p='),
      'failed',
      /p= tag is empty, which means that the key is revoked/,
    ],
    ['without key', found('v=DKIM1; k=rsa'), 'failed', /no p= tag/],
    ['quoted', found(`"v=DKIM1; k=rsa; p=${publicKey}"`), 'failed', /contains quotation marks/],
    [
      'quotes inside the key',
      found(`v=DKIM1; p=${publicKey.slice(0, half)}" "${publicKey.slice(half)}`),
      'failed',
      /key contains quotation marks/,
    ],
    [
      'escaped semicolons',
      found(`v=DKIM1\\; k=rsa\\; p=${publicKey}`),
      'failed',
      /backslashes before the semicolons/,
    ],
    [
      'twice',
      found(`v=DKIM1; p=${publicKey}`, `v=DKIM1; p=${otherKey}`),
      'failed',
      /There are 2 TXT records at posthaste\._domainkey\.example\.com/,
    ],
    ['wrong version', found(`v=DKIM2; p=${publicKey}`), 'failed', /start with v=DKIM1/],
    ['version not first', found(`k=rsa; v=DKIM1; p=${publicKey}`), 'failed', /start with v=DKIM1/],
    ['other type', found(`v=DKIM1; k=ed25519; p=${publicKey}`), 'failed', /k=ed25519, but it must be k=rsa/],
    ['SHA-1 only', found(`v=DKIM1; h=sha1; p=${publicKey}`), 'failed', /h=sha1 does not allow SHA-256/],
    [
      'not for email',
      found(`v=DKIM1; s=tlsrpt; p=${publicKey}`),
      'failed',
      /s=tlsrpt does not allow the key for email/,
    ],
    ['no tags', found('google-site-verification'), 'failed', /not a DKIM key record/],
    ['a tag twice', found(`v=DKIM1; p=${publicKey}; p=${publicKey}`), 'failed', /not a DKIM key record/],
    [
      'no such name',
      nothing('nxdomain'),
      'pending',
      /^Nothing is published at posthaste\._domainkey\.example\.com\. Add the TXT record/,
    ],
    [
      'no such type',
      nothing('nodata'),
      'pending',
      /^posthaste\._domainkey\.example\.com exists but has no TXT record/,
    ],
    [
      'DNS silent',
      failed,
      'temporary_failure',
      /^The DNS lookup of posthaste\._domainkey\.example\.com failed: timeout\./,
    ],
  ])
})

describe('an SPF record with a host name', () => {
  judges(byKey('SPF'), [
    ['as shown', found('v=spf1 a:mail.example.net ~all'), 'verified', null],
    ['in capitals', found('V=SPF1 A:Mail.Example.NET -ALL'), 'verified', null],
    [
      'more mechanisms',
      found('v=spf1 include:_spf.example.org +a:mail.example.net mx ip4:192.0.2.0/24 -all'),
      'verified',
      null,
    ],
    ['without all', found('v=spf1 a:mail.example.net'), 'verified', null],
    [
      'beside other TXT records',
      found('verification=abc', 'v=spf1 a:mail.example.net ~all'),
      'verified',
      null,
    ],
    ['modifiers', found('v=spf1 a:mail.example.net exp=why.example.com x-tool=1 ~all'), 'verified', null],
    [
      'not us',
      found('v=spf1 include:_spf.example.org ~all'),
      'failed',
      /does not include this server\. Add a:mail\.example\.net before/,
    ],
    ['another host', found('v=spf1 a:mail.example.org ~all'), 'failed', /does not include this server/],
    ['after all', found('v=spf1 -all a:mail.example.net'), 'failed', /comes after "all"/],
    [
      'negated',
      found('v=spf1 -a:mail.example.net ~all'),
      'failed',
      /^-a:mail\.example\.net does not authorize this server\. Use a:mail/,
    ],
    [
      'two policies',
      found('v=spf1 a:mail.example.net ~all', 'v=spf1 mx ~all'),
      'failed',
      /There are 2 SPF records at send\.example\.com, .*Merge them/,
    ],
    ['quoted', found('"v=spf1 a:mail.example.net ~all"'), 'failed', /quotation marks/],
    [
      'bad term',
      found('v=spf1 a:mail.example.net ipv4:192.0.2.1 ~all'),
      'failed',
      /"ipv4:192\.0\.2\.1" is not a valid SPF term/,
    ],
    ['a stray space before', found(' v=spf1 a:mail.example.net ~all'), 'failed', /start with "v=spf1 "/],
    [
      'other version',
      found('v=spf10 a:mail.example.net'),
      'pending',
      /There are TXT records at send\.example\.com, but none with an SPF policy/,
    ],
    ['other texts only', found('hello'), 'pending', /but none with an SPF policy/],
    ['no such name', nothing('nxdomain'), 'pending', /^Nothing is published at send\.example\.com/],
    ['DNS silent', failed, 'temporary_failure', /The record may still be correct/],
  ])
})

describe('an SPF record with addresses', () => {
  judges(byKey('SPF', ['192.0.2.1', '2001:db8::1']), [
    ['as shown', found('v=spf1 ip4:192.0.2.1 ip6:2001:db8::1 ~all'), 'verified', null],
    ['in networks', found('v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all'), 'verified', null],
    ['spelled differently', found('v=spf1 ip6:2001:0DB8:0:0::1 ip4:192.0.2.1/32 ~all'), 'verified', null],
    ['one address missing', found('v=spf1 ip4:192.0.2.1 ~all'), 'failed', /Add ip6:2001:db8::1/],
    [
      'a network beside',
      found('v=spf1 ip4:192.0.3.0/24 ip6:2001:db8::1 ~all'),
      'failed',
      /Add ip4:192\.0\.2\.1/,
    ],
    [
      'nonsense for a network',
      found('v=spf1 ip4:192.0.2.0/99 ip6:2001:db8::1 ~all'),
      'failed',
      /Add ip4:192\.0\.2\.1/,
    ],
  ])
})

describe('a DMARC record', () => {
  judges(byKey('DMARC'), [
    ['as shown', found('v=DMARC1; p=none;'), 'verified', null],
    ['stricter', found('v=DMARC1; p=reject; rua=mailto:dmarc@example.com; adkim=s'), 'verified', null],
    ['beside other texts', found('v=spf1 -all', 'v=DMARC1;p=quarantine'), 'verified', null],
    ['no policy', found('v=DMARC1; rua=mailto:dmarc@example.com'), 'failed', /no p= tag/],
    ['unknown policy', found('v=DMARC1; p=block'), 'failed', /p=block is not a valid policy/],
    ['twice', found('v=DMARC1; p=none', 'v=DMARC1; p=reject'), 'failed', /There are 2 DMARC records/],
    ['commas', found('v=DMARC1, p=none'), 'failed', /start with v=DMARC1;/],
    ['no such name', nothing('nxdomain'), 'pending', /^Nothing is published at _dmarc\.example\.com/],
  ])
})

describe('a TLS-RPT record', () => {
  judges(byKey('TLS-RPT'), [
    ['as shown', found(byKey('TLS-RPT').value), 'verified', null],
    ['to someone else', found('v=TLSRPTv1;rua=https://reports.example.net/tls'), 'verified', null],
    ['without an address', found('v=TLSRPTv1;'), 'failed', /The record has no address/],
    [
      'twice',
      found('v=TLSRPTv1; rua=mailto:a@x.test', 'v=TLSRPTv1; rua=mailto:b@x.test'),
      'failed',
      /^There are 2/,
    ],
    ['commas', found('v=TLSRPTv1, rua=mailto:a@x.test'), 'failed', /start with v=TLSRPTv1;/],
    ['another text', found('v=spf1 -all'), 'pending', /none with an address for TLS reports/],
    ['no such name', nothing('nxdomain'), 'pending', /^Nothing is published at _smtp\._tls\.example\.com/],
  ])
})

describe('the MX record of the return path', () => {
  const record = byKey('SPF MX')
  const judge = (...records: [number, string][]) =>
    evaluateRecord(record, {
      type: 'MX',
      answer: {
        kind: 'found',
        records: records.map(([preference, exchange]) => ({ preference, exchange })),
        ...base,
      },
      elsewhere: nowhere,
    })

  test.each<[string, [number, string][], RegExp | null]>([
    ['as shown', [[10, 'mail.example.net']], null],
    ['other preference', [[5, 'mail.example.net']], null],
    [
      'with a later backup',
      [
        [10, 'mail.example.net'],
        [20, 'backup.example.org'],
      ],
      null,
    ],
    [
      'elsewhere',
      [[10, 'mx.example.org']],
      /points to mx\.example\.org, so bounces would not reach this server\. Change it to mail\.example\.net\./,
    ],
    [
      'behind another',
      [
        [20, 'mail.example.net'],
        [10, 'mx.example.org'],
      ],
      /^mx\.example\.org has preference 10, so it receives bounces before mail\.example\.net \(20\)/,
    ],
    [
      'beside another',
      [
        [10, 'mail.example.net'],
        [10, 'mx.example.org'],
      ],
      /receives bounces/,
    ],
    ['null', [[0, '']], /A null MX record/],
    [
      'zone added to the target',
      [[10, 'mail.example.net.example.com']],
      /to mail\.example\.net\.example\.com\. Enter mail\.example\.net\. with a dot/,
    ],
  ])('evaluates an MX record correctly: %s', (_, records, note) => {
    const check = judge(...records)
    expect(check.status).toBe(note === null ? 'verified' : 'failed')
    expect(check.found).toEqual(records.map(([preference, exchange]) => `${preference} ${exchange || '.'}`))
    if (note === null) expect(check.note).toBeNull()
    else expect(check.note).toMatch(note)
  })
})

describe('a misplaced record', () => {
  const judge = (elsewhere: Partial<CommonMistakes>) =>
    evaluateRecord(byKey('DKIM posthaste'), {
      type: 'TXT',
      answer: nothing('nxdomain'),
      elsewhere: { ...nowhere, ...elsewhere },
    })

  test('a record under a doubled zone name is reported with its place and the fix', () => {
    expect(judge({ misplaced: 'posthaste._domainkey.example.com.example.com' })).toEqual({
      key: 'DKIM posthaste',
      status: 'failed',
      found: [],
      note: 'The record is at posthaste._domainkey.example.com.example.com instead of posthaste._domainkey.example.com: the DNS panel added the zone to the name. Enter the name as posthaste._domainkey.',
    })
  })

  test('a record with a missing part of the name is reported', () => {
    expect(judge({ misplaced: 'posthaste._domainkey.com' }).note).toMatch(/part of the name is missing/)
  })

  test('a CNAME whose target has no record is reported', () => {
    expect(judge({ cname: 'old.example.org' })).toMatchObject({
      status: 'failed',
      note: 'posthaste._domainkey.example.com is a CNAME to old.example.org, which has no TXT record. Replace it with the TXT record.',
    })
  })
})
