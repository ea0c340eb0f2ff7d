import { describe, expect, test } from 'vitest'
import {
  findMatchingMx,
  parseStsPolicy,
  parseStsRecord,
  formatStsPolicyLines,
} from '../../../../appliance/delivery/policy/sts.ts'

describe('the MTA-STS TXT record', () => {
  test.each([
    ['the example of RFC 8461 §3.1', 'v=STSv1; id=20160831085700Z;', '20160831085700Z'],
    ['no semicolon at the end', 'v=STSv1; id=1', '1'],
    ['no blanks', 'v=STSv1;id=abc', 'abc'],
    ['blanks and tabs around delimiters', 'v=STSv1 \t; \t id=abc ;  ', 'abc'],
    ['an extension before the id', 'v=STSv1; x-new=a,b; id=abc', 'abc'],
    ['the first id of two', 'v=STSv1; id=first; id=second', 'first'],
  ])('accepts the TXT record: %s', (_, record, id) => {
    expect(parseStsRecord([record])).toEqual({ kind: 'id', id })
  })

  test.each([
    ['no record', []],
    ['another record', ['v=spf1 -all']],
    ['another version', ['v=STSv2; id=1']],
    ['the version in uppercase', ['V=STSV1; id=1']],
    ['nothing behind the version', ['v=STSv1']],
    ['a blank before the version', [' v=STSv1; id=1']],
  ])('treats the TXT record as absent: %s', (_, records) => {
    expect(parseStsRecord(records)).toEqual({ kind: 'none' })
  })

  test.each([
    ['no id', ['v=STSv1;'], 'has no id'],
    ['an empty id', ['v=STSv1; id=;'], 'has a field that is not name=value'],
    ['an id with other characters', ['v=STSv1; id=a-b'], 'has an id that is not 1 to 32 letters and digits'],
    [
      'an id of 33 characters',
      [`v=STSv1; id=${'a'.repeat(33)}`],
      'has an id that is not 1 to 32 letters and digits',
    ],
    ['a field without =', ['v=STSv1; id=1; hello'], 'has a field that is not name=value'],
    ['an empty field', ['v=STSv1; ; id=1'], 'has a field that is not name=value'],
    ['two records', ['v=STSv1; id=1', 'v=STSv1; id=2'], 'exists more than once'],
  ])('rejects the TXT record: %s', (_, records, why) => {
    expect(parseStsRecord(records)).toEqual({ kind: 'invalid', why })
  })

  test('finds the TXT record among unrelated ones', () => {
    expect(parseStsRecord(['google-site=1', 'v=STSv1; id=7'])).toEqual({ kind: 'id', id: '7' })
  })
})

const good =
  'version: STSv1\nmode: enforce\nmx: mail.example.com\nmx: *.example.net\nmx: backupmx.example.com\nmax_age: 604800\n'

describe('the MTA-STS policy', () => {
  test('parses the policy of RFC 8461 §3.2 with LF and CRLF', () => {
    const policy = {
      mode: 'enforce',
      mx: ['mail.example.com', '*.example.net', 'backupmx.example.com'],
      maxAge: 604_800,
    } as const
    expect(parseStsPolicy(good)).toEqual(policy)
    expect(parseStsPolicy(good.replaceAll('\n', '\r\n'))).toEqual(policy)
    expect(parseStsPolicy(good.trimEnd())).toEqual(policy)
    expect(formatStsPolicyLines({ ...policy, mx: [...policy.mx] })).toEqual(good.trimEnd().split('\n'))
  })

  test('accepts a policy with unknown fields, and blanks around values', () => {
    expect(
      parseStsPolicy('version:STSv1\nx_new: hello: world\nmode:   testing  \nmx:\tA.Example\nmax_age: 0'),
    ).toEqual({
      mode: 'testing',
      mx: ['a.example'],
      maxAge: 0,
    })
  })

  test('uses the first of repeated fields in a policy', () => {
    expect(parseStsPolicy(`${good}mode: none\nversion: STSv9\nmax_age: 1\n`)).toMatchObject({
      mode: 'enforce',
      maxAge: 604_800,
    })
  })

  test('a policy of mode none needs no mx', () => {
    expect(parseStsPolicy('version: STSv1\nmode: none\nmax_age: 86400')).toEqual({
      mode: 'none',
      mx: [],
      maxAge: 86_400,
    })
  })

  test.each([
    ['is empty', '', 'has a line that is not "name: value"'],
    ['is a web page', '<html>\n<body>', 'has a line that is not "name: value"'],
    ['has no version', good.replace('version: STSv1\n', ''), 'does not say "version: STSv1"'],
    ['has another version', good.replace('STSv1', 'STSv2'), 'does not say "version: STSv1"'],
    ['has no mode', good.replace('mode: enforce\n', ''), 'has no mode of enforce, testing or none'],
    [
      'has a mode in uppercase',
      good.replace('enforce', 'Enforce'),
      'has no mode of enforce, testing or none',
    ],
    ['has no max_age', good.replace(/max_age.*\n/, ''), 'has no max_age of 0 to 31557600 seconds'],
    ['has a negative max_age', good.replace('604800', '-1'), 'has no max_age of 0 to 31557600 seconds'],
    [
      'lasts longer than a year',
      good.replace('604800', '31557601'),
      'has no max_age of 0 to 31557600 seconds',
    ],
    [
      'has a max_age with a unit',
      good.replace('604800', '1 week'),
      'has no max_age of 0 to 31557600 seconds',
    ],
    ['has no mx', good.replaceAll(/mx: .*\n/g, ''), 'lists no mx'],
    [
      'has a wildcard inside',
      good.replace('*.example', 'mx.*.example'),
      'has an mx that is neither a host name nor "*." and a domain',
    ],
    [
      'has a bare wildcard',
      good.replace('*.example.net', '*'),
      'has an mx that is neither a host name nor "*." and a domain',
    ],
    [
      'has an empty mx',
      good.replace('*.example.net', ''),
      'has an mx that is neither a host name nor "*." and a domain',
    ],
    ['has an empty line inside', good.replace('mode', '\nmode'), 'has a line that is not "name: value"'],
  ])('rejects a policy that %s', (_, text, why) => {
    expect(parseStsPolicy(text)).toBe(why)
  })

  test('rejects a policy with more than 200 mx', () => {
    const many = Array.from({ length: 201 }, (_, at) => `mx: mx${at}.example.com\n`).join('')
    expect(parseStsPolicy(good + many)).toBe('lists more than 200 mx')
  })
})

describe('matchingMx', () => {
  const policy = { mode: 'enforce', mx: ['mail.example.com', '*.example.net'], maxAge: 1 } as const
  const match = (host: string) => findMatchingMx({ ...policy, mx: [...policy.mx] }, host)
  test.each([
    ['mail.example.com', 'mail.example.com'],
    ['MAIL.Example.com.', 'mail.example.com'],
    ['mx1.example.net', '*.example.net'],
    ['a.b.example.net', undefined],
    ['example.net', undefined],
    ['mx.mail.example.com', undefined],
    ['badexample.net', undefined],
    ['mail.example.org', undefined],
    ['', undefined],
  ])('the mx pattern that matches %s is %s', (host, pattern) => {
    expect(match(host)).toBe(pattern)
  })
})
