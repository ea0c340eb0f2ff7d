import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { parseDmarcReport } from '../../../appliance/inbound/reading/dmarc.ts'
import { classifyReturnedMessage } from '../../../appliance/inbound/reading/read-returned.ts'
import { parseTlsReport } from '../../../appliance/inbound/reading/tls-report.ts'
import { compressReport, buildTlsReport } from '../../../appliance/reports/tls-report.ts'
import { shippedRules } from './rules.ts'
import { DMARC_REPORTS, dmarcXml, TLS_JSON, TLS_REPORTS, zip } from './samples/reports.ts'

const rules = shippedRules()
const attached = (message: string): Uint8Array => classifyReturnedMessage(Buffer.from(message), rules).report!

const reportOf = (bytes: Uint8Array) => {
  const reading = parseDmarcReport(bytes)
  if (reading.kind !== 'report') throw new Error(reading.problem)
  return reading.report
}

describe('DMARC aggregate reports', () => {
  test.each(DMARC_REPORTS)('reads the DMARC report "$name"', ({ message, count }) => {
    const report = reportOf(attached(message))
    expect(report.records.reduce((sum, one) => sum + one.count, 0)).toBe(count)
    expect(report).toMatchObject({ policy: { domain: 'sender.example', p: 'none' } })
    expect(report.begin).toBe(1_795_392_000_000)
    expect(Math.floor(report.end / 1000)).toBe(1_795_478_399)
  })

  test('a DMARC report keeps every value in the XML', () => {
    const reason = '<reason><type>mailing_list</type><comment>a list</comment></reason>'
    const [first] = reportOf(
      Buffer.from(dmarcXml('all').replace('</policy_evaluated>', `${reason}</policy_evaluated>`)),
    ).records
    expect(first).toEqual({
      sourceIp: '192.0.2.1',
      count: 3,
      disposition: 'none',
      dkimAligned: true,
      spfAligned: false,
      reasons: [{ type: 'mailing_list', comment: 'a list' }],
      headerFrom: 'sender.example',
      envelopeFrom: 'send.sender.example',
      envelopeTo: '',
      dkim: [{ domain: 'sender.example', selector: 'posthaste', result: 'pass' }],
      spf: [{ domain: 'send.sender.example', scope: 'mfrom', result: 'softfail' }],
    })
  })

  test('reads the fields of RFC 9990 in a DMARC report, and counts incomplete records as skipped', () => {
    const named = (name: string) =>
      reportOf(attached(DMARC_REPORTS.find((one) => one.name === name)!.message))
    expect(named('RFC 9990').policy).toMatchObject({
      np: 'reject',
      testing: 'y',
      discoveryMethod: 'treewalk',
    })
    expect(named('records without address or count')).toMatchObject({ skipped: 2, records: [{ count: 7 }] })
    expect(named('bracketed IPv6').records[0]!.sourceIp).toBe('2001:db8::2')
    expect(named('results in any case').records[0]).toMatchObject({
      dkimAligned: true,
      spf: [{ result: 'softfail' }],
    })
  })

  const deep = '<a>'.repeat(200_000)
  const million = Buffer.alloc(60 * 1024 * 1024, ' ')
  test.each([
    [
      'a document type',
      Buffer.from(dmarcXml('x').replace('<feedback>', '<!DOCTYPE f [<!ENTITY a "b">]><feedback>')),
      'dangerous',
    ],
    [
      'a processing instruction',
      Buffer.from(dmarcXml('x').replace('<feedback>', '<?xml-stylesheet href="x"?><feedback>')),
      'dangerous',
    ],
    ['deep nesting', Buffer.from(`<feedback>${deep}`), 'dangerous'],
    ['gzip within gzip', gzipSync(gzipSync(dmarcXml('x'))), 'dangerous'],
    ['encryption', zip([{ name: 'a.xml', bytes: Buffer.from(dmarcXml('x')), flags: 1 }]), 'dangerous'],
    ['a gzip bomb', gzipSync(million), 'too-large'],
    ['a zip bomb', zip([{ name: 'a.xml', bytes: million }]), 'too-large'],
    ['a large file', Buffer.alloc(10 * 1024 * 1024 + 1), 'too-large'],
    ['a truncated gzip', gzipSync(dmarcXml('x')).subarray(0, 100), 'damaged'],
    [
      'a zip without its directory',
      zip([{ name: 'a.xml', bytes: Buffer.from('<a/>') }]).subarray(0, 40),
      'damaged',
    ],
    [
      'two files',
      zip([
        { name: 'a.xml', bytes: Buffer.from('<a/>') },
        { name: 'b.xml', bytes: Buffer.from('<a/>') },
      ]),
      'not-a-report',
    ],
    ['something else', Buffer.from('<html></html>'), 'not-a-report'],
    ['nothing', Buffer.alloc(0), 'not-a-report'],
  ])('rejects a DMARC report with %s', (_, bytes, problem) => {
    expect(parseDmarcReport(bytes)).toEqual({ kind: 'problem', problem })
  })

  test('a DMARC report in a modified archive is reported as damaged', () => {
    const archive = zip([{ name: 'a.xml', bytes: Buffer.from(dmarcXml('x')), stored: true }])
    archive[60]! ^= 1
    expect(parseDmarcReport(archive)).toEqual({ kind: 'problem', problem: 'damaged' })
  })

  test('does not expand entities in a DMARC report other than those of XML', () => {
    expect(reportOf(Buffer.from(dmarcXml('&lol;&amp;&#65;'))).organization).toBe('&lol;&A')
  })
})

describe('TLS reports', () => {
  test.each(TLS_REPORTS)('reads the TLS report "$name"', ({ message }) => {
    const reading = parseTlsReport(attached(message))
    expect(reading).toMatchObject({
      kind: 'report',
      report: {
        organization: 'Receiver',
        begin: Date.parse('2026-11-24T00:00:00Z'),
        policies: [
          {
            type: 'sts',
            domain: 'sender.example',
            mxHosts: ['mx.sender.example'],
            successful: 5,
            failed: 2,
            failures: [{ type: 'certificate-expired', sessions: 2 }],
          },
        ],
      },
    })
  })

  test('reads a TLS report sent by Posthaste', () => {
    const policy = {
      type: 'tlsa' as const,
      domain: 'recipient.example',
      strings: ['3 1 1 ab'],
      mxHosts: ['mx.recipient.example'],
    }
    const report = buildTlsReport({
      hostname: 'mail.sender.example',
      contact: 'postmaster@sender.example',
      day: '2026-11-24',
      domain: 'recipient.example',
      results: [
        {
          day: '2026-11-24',
          domain: 'recipient.example',
          policy,
          result: 'success',
          sourceIp: '',
          mxHost: '',
          mxIp: '',
          sessions: 9,
          reason: '',
        },
        {
          day: '2026-11-24',
          domain: 'recipient.example',
          policy,
          result: 'starttls-not-supported',
          sourceIp: '192.0.2.1',
          mxHost: 'mx.recipient.example',
          mxIp: '192.0.2.9',
          sessions: 2,
          reason: 'why',
        },
      ],
    })
    const reading = parseTlsReport(compressReport(report))
    expect(reading).toMatchObject({
      kind: 'report',
      report: {
        organization: 'mail.sender.example',
        contact: 'postmaster@sender.example',
        policies: [
          {
            type: 'tlsa',
            domain: 'recipient.example',
            strings: ['3 1 1 ab'],
            successful: 9,
            failed: 2,
            failures: [
              {
                type: 'starttls-not-supported',
                sendingIp: '192.0.2.1',
                receivingIp: '192.0.2.9',
                sessions: 2,
                reason: 'why',
              },
            ],
          },
        ],
      },
    })
  })

  test.each([
    ['invalid JSON', Buffer.from('{'), 'damaged'],
    ['other JSON', Buffer.from('{"a":1}'), 'not-a-report'],
    ['no date range', Buffer.from(JSON.stringify({ ...TLS_JSON, 'date-range': {} })), 'not-a-report'],
    ['too large content', gzipSync(Buffer.alloc(11 * 1024 * 1024, ' ')), 'too-large'],
  ])('rejects a TLS report with %s', (_, bytes, problem) => {
    expect(parseTlsReport(bytes)).toEqual({ kind: 'problem', problem })
  })
})
