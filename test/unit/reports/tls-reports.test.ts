import { gunzipSync } from 'node:zlib'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { parseMailtoAddress, parseTlsReportRecord } from '../../../appliance/mail/tls-report.ts'
import { compressReport, buildTlsReport, buildTlsReportEmail } from '../../../appliance/reports/tls-report.ts'
import { computeStartDelay, createTlsReporter } from '../../../appliance/reports/tls-reports.ts'
import type { TlsCount } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'

const sts = {
  type: 'sts',
  domain: 'company-y.example',
  strings: ['version: STSv1', 'mode: testing', 'mx: *.mail.company-y.example', 'max_age: 86400'],
  mxHosts: ['*.mail.company-y.example'],
} as const
const policy = { ...sts, strings: [...sts.strings], mxHosts: [...sts.mxHosts] }
const one = (more: Partial<TlsCount>): TlsCount => ({
  day: '2016-04-01',
  domain: 'company-y.example',
  policy,
  result: 'success',
  sessions: 1,
  sourceIp: '',
  mxHost: '',
  mxIp: '',
  reason: '',
  ...more,
})
/** The numbers of RFC 8460, Appendix B. */
const results = [
  one({ sessions: 5326 }),
  one({
    result: 'certificate-expired',
    sourceIp: '2001:db8:abcd:0012::1',
    mxHost: 'mx1.mail.company-y.example',
    sessions: 100,
  }),
  one({
    result: 'starttls-not-supported',
    sourceIp: '2001:db8:abcd:0013::1',
    mxHost: 'mx2.mail.company-y.example',
    mxIp: '203.0.113.56',
    sessions: 200,
    reason: 'does not offer TLS',
  }),
]
const facts = {
  hostname: 'mail.company-x.example',
  contact: 'sts-reporting@company-x.example',
  day: '2016-04-01',
  domain: 'company-y.example',
  results,
}

test('a TLS report has the structure of the example in RFC 8460', () => {
  expect(buildTlsReport(facts)).toEqual({
    'organization-name': 'mail.company-x.example',
    'date-range': { 'start-datetime': '2016-04-01T00:00:00Z', 'end-datetime': '2016-04-01T23:59:59Z' },
    'contact-info': 'sts-reporting@company-x.example',
    'report-id': '2016-04-01.company-y.example@mail.company-x.example',
    policies: [
      {
        policy: {
          'policy-type': 'sts',
          'policy-string': sts.strings,
          'policy-domain': 'company-y.example',
          'mx-host': ['*.mail.company-y.example'],
        },
        summary: { 'total-successful-session-count': 5326, 'total-failure-session-count': 300 },
        'failure-details': [
          {
            'result-type': 'certificate-expired',
            'sending-mta-ip': '2001:db8:abcd:0012::1',
            'receiving-mx-hostname': 'mx1.mail.company-y.example',
            'failed-session-count': 100,
          },
          {
            'result-type': 'starttls-not-supported',
            'sending-mta-ip': '2001:db8:abcd:0013::1',
            'receiving-mx-hostname': 'mx2.mail.company-y.example',
            'receiving-ip': '203.0.113.56',
            'failed-session-count': 200,
            'failure-reason-code': 'does not offer TLS',
          },
        ],
      },
    ],
  })
})

test('a TLS report lists policies separately, without details if there are no failures', () => {
  const none = { type: 'no-policy-found', domain: 'company-y.example', strings: [], mxHosts: [] } as const
  const { policies } = buildTlsReport({
    ...facts,
    results: [one({}), one({ policy: { ...none, strings: [], mxHosts: [] }, sessions: 7 })],
  })
  expect(policies).toMatchObject([
    { policy: { 'policy-type': 'sts' } },
    { policy: { 'policy-type': 'no-policy-found' } },
  ])
  expect(policies[1]).toEqual({
    policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'company-y.example' },
    summary: { 'total-successful-session-count': 7, 'total-failure-session-count': 0 },
  })
})

test('a TLS report email is a multipart/report with the fields of RFC 8460 §5.3', async () => {
  const report = buildTlsReport(facts)
  const email = buildTlsReportEmail(facts, compressReport(report), {
    id: 'one',
    deliveryId: 'two',
    teamId: 'team',
    domainId: 'domain',
    from: 'tlsrpt@company-x.example',
    to: 'reports@company-y.example',
    now: Date.UTC(2016, 3, 2, 3),
  })
  expect(email).toMatchObject({ requireTls: 'no', returnPath: '', via: 'report', reportTo: null })
  expect(email.deliveries).toMatchObject([{ recipient: 'reports@company-y.example' }])
  const raw = Buffer.from(email.message).toString()
  expect(raw).toContain('Content-Type: multipart/report; report-type="tlsrpt";\r\n boundary="report-one"\r\n')
  expect(raw.split('\r\n').every((line) => line.length <= 998)).toBe(true)
  const parsed = await PostalMime.parse(email.message)
  const field = (name: string) => parsed.headers.find(({ key }) => key === name)?.value
  expect(field('tls-report-domain')).toBe('company-y.example')
  expect(field('tls-report-submitter')).toBe('mail.company-x.example')
  expect(field('tls-required')).toBe('No')
  expect(parsed.subject).toBe(
    'Report Domain: company-y.example Submitter: mail.company-x.example Report-ID: <2016-04-01.company-y.example@mail.company-x.example>',
  )
  const [attachment] = parsed.attachments
  expect(attachment).toMatchObject({
    mimeType: 'application/tlsrpt+gzip',
    filename: 'mail.company-x.example!company-y.example!1459468800!1459555199.json.gz',
  })
  expect(JSON.parse(gunzipSync(attachment!.content as ArrayBuffer).toString())).toEqual(report)
})

describe('a TLSRPT record', () => {
  test.each([
    ['v=TLSRPTv1;rua=mailto:reports@example.com', ['mailto:reports@example.com']],
    ['v=TLSRPTv1; rua=https://reporting.example.com/v1/tlsrpt', ['https://reporting.example.com/v1/tlsrpt']],
    [
      'v=TLSRPTv1; rua=mailto:a@example.com , https://r.example/x; x-new=1;',
      ['mailto:a@example.com', 'https://r.example/x'],
    ],
  ])('parses the TLSRPT record %s', (record, uris) => {
    expect(parseTlsReportRecord(['other', record])).toEqual({ kind: 'targets', uris })
  })

  test.each([
    [[], 'none'],
    [['v=TLSRPTv2; rua=mailto:a@example.com'], 'none'],
    [['v=TLSRPTv1; rua=mailto:a@example.com', 'v=TLSRPTv1; rua=mailto:b@example.com'], 'invalid'],
    [['v=TLSRPTv1;'], 'invalid'],
    [['v=TLSRPTv1; rua=http://example.com/'], 'invalid'],
    [['v=TLSRPTv1; rua=mailto:nobody'], 'invalid'],
    [['v=TLSRPTv1; rua=mailto:a@example.com; hello'], 'invalid'],
  ])('the TLSRPT record %j is %s', (records, kind) => {
    expect(parseTlsReportRecord(records).kind).toBe(kind)
  })

  test('mailto addresses are percent-decoded, and cannot inject header lines', () => {
    expect(parseMailtoAddress('mailto:a%2Bb@example.com?subject=x')).toBe('a+b@example.com')
    expect(parseMailtoAddress('mailto:a%0d%0aBcc:x@example.com')).toBeUndefined()
    expect(parseMailtoAddress('mailto:a@b@example.com')).toBe(undefined)
    expect(parseMailtoAddress('mailto:a@example.com,b@example.com')).toBeUndefined()
    expect(parseMailtoAddress('mailto:%zz@example.com')).toBeUndefined()
  })
})

test('TLS reports of different nights start at different times within four hours', () => {
  const times = Array.from({ length: 50 }, (_, at) => computeStartDelay('mail.example.com', `2026-11-${at}`))
  expect(new Set(times).size).toBe(50)
  expect(times.every((time) => time >= 0 && time < 4 * 3_600_000)).toBe(true)
})

test('domains whose DNS fails do not keep the domains after them from being handled', async () => {
  const domains = Array.from({ length: 150 }, (_, at) => `down${String(at).padStart(3, '0')}.test`)
  // The test clock runs in real time, so none of the failed domains may be old enough to be given up.
  const day = new Date().toISOString().slice(0, 10)
  const due = [...domains, 'up.test'].map((domain) => ({ day, domain }))
  const saved: string[] = []
  const reporter = createTlsReporter({
    storage: {
      dueTlsReports: async ({ after, limit }) =>
        due.filter(({ domain }) => domain > (after?.domain ?? '')).slice(0, limit),
      saveTlsReport: async ({ domain }) => saved.push(domain) > 0,
      tlsResultsOf: async () => [],
      firstTeam: async () => ({ id: 'team' }) as never,
      findDomain: async () => ({ id: 'domain', status: 'verified' }) as never,
      put: async () => ({ kind: 'stored', usage: null }),
    },
    resolver: {
      resolve: async (name) =>
        (name === '_smtp._tls.up.test'
          ? { kind: 'found', records: [] }
          : { kind: 'failed', note: 'SERVFAIL' }) as never,
    },
    fetch: () => Promise.reject(new Error('nothing is fetched here')),
    clock: createTestClock(),
    log: createSilentLogger(),
    hostname: 'mail.sender.test',
    from: 'tls@sender.test',
    contact: undefined,
    onStored: () => undefined,
  })
  expect(await reporter.sendDue()).toBe(0)
  expect(saved).toEqual(['up.test'])
})
