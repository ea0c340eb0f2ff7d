import { describe, expect, test } from 'vitest'
import type { DmarcRow, TlsRow } from '../../../appliance/mail/domain-report.ts'
import { describeDmarcNextStep, summarizeSources } from '../../../appliance/mail/dmarc-summary.ts'
import { buildReportAddress } from '../../../appliance/mail/report-address.ts'
import { summarizeTls, describeTlsNextStep } from '../../../appliance/mail/tls-summary.ts'

const row = (change: Partial<DmarcRow> = {}): DmarcRow => ({
  sourceIp: '192.0.2.1',
  headerFrom: 'acme.example',
  disposition: 'none',
  dkimAligned: true,
  spfAligned: true,
  dkimDomain: 'acme.example',
  dkimResult: 'pass',
  spfDomain: 'send.acme.example',
  spfResult: 'pass',
  reason: '',
  messages: 10,
  ...change,
})
const failing = { dkimAligned: false, spfAligned: false } as const
const nothing = { ...failing, dkimResult: 'none', dkimDomain: '', spfResult: 'fail' } as const
const sources = (rows: DmarcRow[], own: string[] = []) => summarizeSources('acme.example', rows, new Set(own))

describe('sources in DMARC reports', () => {
  test.each([
    ['own', [row()], ['192.0.2.1'], 'ok', 'This server. All its mail passes DMARC.'],
    ['own', [row(), row(nothing)], ['192.0.2.1'], 'failed', 'This server. 10 messages failed DMARC.'],
    ['aligned', [row()], [], 'ok', 'May send for acme.example, and passes DMARC.'],
    [
      'forwarder',
      [row({ spfAligned: false, spfDomain: 'list.example' })],
      [],
      'ok',
      /signature of acme.example alone/,
    ],
    [
      'service',
      [row({ ...failing, dkimDomain: 'mailer.example' })],
      [],
      'warning',
      'Signs as mailer.example, not as acme.example.',
    ],
    [
      'service',
      [row({ ...nothing, spfResult: 'pass', spfDomain: 'm.example' })],
      [],
      'warning',
      /^Sends as m.example, without/,
    ],
    ['unknown', [row(nothing)], [], 'failed', /^Neither SPF nor DKIM passes/],
  ])('a source in DMARC reports is classified as %s', (kind, rows, own, status, verdict) => {
    const [source] = sources(rows, own)
    expect(source).toMatchObject({ kind, status })
    expect(source!.verdict).toMatch(verdict)
    expect(source!.nextStep === null).toBe(status === 'ok')
  })

  test('sources are summed per address and sorted by volume', () => {
    const [large, small, ...others] = sources([
      row(),
      row({ sourceIp: '2001:db8::1', messages: 100, disposition: 'quarantine', ...nothing }),
      row({ spfAligned: false, messages: 1 }),
    ])
    expect(others).toEqual([])
    expect(large).toMatchObject({ ip: '2001:db8::1', messages: 100, passed: 0 })
    expect(large!.dispositions).toMatchObject({ quarantine: 100, none: 0 })
    expect(small).toMatchObject({ messages: 11, passed: 11, dkimAligned: 11, spfAligned: 10 })
    expect(small!.dkimDomains).toEqual(['acme.example'])
  })
})

describe('the suggested DMARC next step', () => {
  const step = (rows: DmarcRow[], change: { policy?: string; days?: number } = {}, own: string[] = []) => {
    const of = sources(rows, own)
    const messages = of.reduce((all, one) => all + one.messages, 0)
    const passed = of.reduce((all, one) => all + one.passed, 0)
    return describeDmarcNextStep('acme.example', {
      policy: 'none',
      days: 20,
      ...change,
      messages,
      passed,
      sources: of,
    })
  }
  test.each([
    ['without reports', step([]), /^Publish the record below/],
    [
      'if own mail fails',
      step([row(nothing)], {}, ['192.0.2.1']),
      /^Fix the mail of this server first: 192.0.2.1/,
    ],
    [
      'if a service is not set up',
      step([row(), row({ ...failing, sourceIp: '::1' })]),
      /^Set up DKIM for each service/,
    ],
    ['before 14 days of reports', step([row()], { days: 3 }), /for 14 days .* So far there are 3/],
    ['after 14 days of reports', step([row()]), /p=quarantine\.$/],
    ['despite forged mail', step([row(), row({ ...nothing, sourceIp: '::1' })]), /p=quarantine\.$/],
    ['quarantine', step([row()], { policy: 'quarantine' }), /p=reject\.$/],
    ['reject', step([row()], { policy: 'reject' }), /^Nothing to do/],
  ])('suggests the next step for DMARC: %s', (_, text, expected) => expect(text).toMatch(expected))
})

describe('TLS report summaries', () => {
  const tls = (change: Partial<TlsRow> = {}): TlsRow => ({
    policyType: 'sts',
    failure: '',
    receivingMx: '',
    reason: '',
    sessions: 90,
    ...change,
  })
  test('TLS report summaries explain failures, the most frequent first', () => {
    const summary = summarizeTls([
      tls(),
      tls({ failure: 'certificate-expired', receivingMx: 'mx1', sessions: 2 }),
      tls({ failure: 'something-new', policyType: 'tlsa', sessions: 3 }),
      tls({ failure: 'certificate-expired', receivingMx: 'mx2', sessions: 5 }),
    ])
    expect(summary).toMatchObject({ sessions: 100, failed: 10 })
    expect(summary.policies).toEqual([
      { type: 'sts', sessions: 97, failed: 7 },
      { type: 'tlsa', sessions: 3, failed: 3 },
    ])
    expect(summary.failures.map(({ type, sessions, mxHosts }) => [type, sessions, mxHosts])).toEqual([
      ['certificate-expired', 7, ['mx1', 'mx2']],
      ['something-new', 3, []],
    ])
    expect(describeTlsNextStep(summary)).toBe(
      'Check the certificate of the MX host: its names, its chain and its end.',
    )
  })
  test('suggests a next step if there are no TLS failures or no reports', () => {
    expect(describeTlsNextStep(summarizeTls([tls()]))).toMatch(/^Nothing to do/)
    expect(describeTlsNextStep(summarizeTls([]))).toMatch(/publish the record below/)
  })
})

test('every domain has its own report address', () => {
  const of = (id: string, name = 'acme.example', returnPath = 'send') =>
    buildReportAddress({ id, name, returnPath })
  expect(of('a')).toMatch(/^reports-[0-9a-f]{20}@send\.acme\.example$/)
  expect(new Set([of('a'), of('b'), of('a', 'other.example'), of('a', 'acme.example', 'out')]).size).toBe(4)
})
