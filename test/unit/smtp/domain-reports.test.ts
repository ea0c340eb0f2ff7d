import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gzipSync } from 'node:zlib'
import { buildReportAddress } from '../../../appliance/mail/report-address.ts'
import { startZoneServer, type ZoneServer } from '../../../appliance/sandbox/zone.ts'
import type { Domain } from '../../../appliance/storage/storage.ts'
import { play, readDialogs } from '../../dialogs/runner.ts'
import { dmarcXml, TLS_JSON } from '../inbound/samples/reports.ts'
import { startDoor, type Door } from './harness.ts'

let door: Door
let zone: ZoneServer
let domain: Domain
let address: string
beforeAll(async () => {
  const here = { TXT: 'v=spf1 ip4:127.0.0.1 -all' }
  zone = await startZoneServer({
    zone: {
      'google.test': here,
      '_dmarc.google.test': { TXT: 'v=DMARC1; p=reject' },
      'small.test': here,
      'forged.test': { TXT: 'v=spf1 -all' },
      '_dmarc.forged.test': { TXT: 'v=DMARC1; p=none' },
      'broken.test': 'SERVFAIL',
      '_dmarc.broken.test': 'SERVFAIL',
    },
  })
  door = await startDoor({ servers: [`${zone.address}:${zone.port}`], config: { messageBytes: 30_000_000 } })
  domain = (await door.senders.findDomain({ teamId: door.teamId, name: 'acme.example' }))!
  address = buildReportAddress(domain)
})
afterAll(async () => {
  await door.close()
  await zone.close()
})

async function talk(...lines: string[]): Promise<void> {
  const [dialog] = readDialogs(['=== a conversation @relay', '< 220 …', ...lines].join('\n'))
  expect(await play(dialog!, door)).toBeNull()
}
const HELLO = ['> EHLO mx.google.test', '* 250-STARTTLS']

/** Returns the lines of a message with a report. */
function reportMail(from: string, report: Buffer, type = 'application/gzip'): string[] {
  const lines = gzipSync(report)
    .toString('base64')
    .match(/.{1,76}/g)!
  return [
    `From: Reports <dmarc@${from}>`,
    'Subject: Report Domain: acme.example Submitter: google.test',
    'MIME-Version: 1.0',
    `Content-Type: ${type}`,
    'Content-Transfer-Encoding: base64',
    '',
    ...lines,
  ]
}

const deliver = (from: string, lines: string[], answer: string, to = address) =>
  talk(
    ...HELLO,
    `> MAIL FROM:<dmarc@${from}>`,
    '< 250 …',
    `> RCPT TO:<${to}>`,
    '< 250 …',
    '> DATA',
    '< 354 …',
    ...lines.map((line) => `> ${line}`),
    '> .',
    `< ${answer}`,
  )

const xml = (id: string, name = 'acme.example') =>
  Buffer.from(dmarcXml(id).replaceAll('sender.example', name))
const OK = '250 2.0.0 Received as …'

async function kept() {
  const args = { teamId: door.teamId, domainId: domain.id, limit: 100 }
  return (await door.storage.listDomainReports(args, door.clock.now())).items
}

describe('the DMARC and TLS report address of a domain', () => {
  test('stores a DMARC report sent to the report address, and ignores a duplicate', async () => {
    await deliver('google.test', reportMail('google.test', xml('one')), OK)
    await deliver('google.test', reportMail('google.test', xml('one')), OK)
    const [report, ...others] = await kept()
    expect(others).toEqual([])
    expect(report).toMatchObject({
      kind: 'dmarc',
      submitter: 'google.test',
      organization: 'one',
      reportId: 'r-one',
      total: 7,
      failed: 0,
      policyDomain: 'acme.example',
      policy: { p: 'none' },
      begin: 1_795_392_000_000,
    })
    const args = { teamId: door.teamId, domainId: domain.id, id: report!.id }
    const whole = await door.storage.getDomainReport(args, door.clock.now())
    expect(whole!.dmarc).toMatchObject([
      { sourceIp: '2001:db8::1', messages: 4, dkimAligned: true, dkimDomain: 'acme.example' },
      { sourceIp: '192.0.2.1', messages: 3, spfAligned: false, spfDomain: 'send.acme.example' },
    ])
  })

  test('accepts a TLS report, even from a sender without a DMARC policy', async () => {
    const json = JSON.stringify(TLS_JSON).replaceAll('sender.example', 'acme.example')
    await deliver('small.test', reportMail('small.test', Buffer.from(json), 'application/tlsrpt+gzip'), OK)
    const [report] = await kept()
    expect(report).toMatchObject({ kind: 'tls', submitter: 'small.test', policy: null })
  })

  test('rejects reports that fail DMARC, and defers on DNS errors', async () => {
    const before = await kept()
    await deliver('forged.test', reportMail('forged.test', xml('a')), '550 5.7.1 …')
    await deliver('small.test', reportMail('google.test', xml('a')), '550 5.7.1 …')
    await deliver('google.test', ['Subject: no From', '', 'x'], '550 5.7.1 …')
    await deliver('broken.test', reportMail('broken.test', xml('a')), '451 …')
    expect(await kept()).toEqual(before)
  })

  test('rejects non-reports, decompression bombs and reports about another domain', async () => {
    const before = await kept()
    await deliver('google.test', ['From: a@google.test', '', 'hello'], '550 5.6.0 …')
    const bomb = gzipSync(Buffer.alloc(60 * 1024 * 1024))
    await deliver('google.test', reportMail('google.test', bomb), '550 5.6.0 …')
    await deliver('google.test', reportMail('google.test', Buffer.alloc(60 * 1024 * 1024)), '550 5.6.0 …')
    await deliver('google.test', reportMail('google.test', xml('a', 'second.example')), '550 5.7.1 …')
    await deliver('google.test', reportMail('google.test', xml('a', 'notacme.example')), '550 5.7.1 …')
    expect(await kept()).toEqual(before)
  })

  test('the report address is valid for one domain only, and only if the domain is verified', async () => {
    const find = (name: string) => door.senders.findDomain({ teamId: door.teamId, name })
    const [other, unverified] = [await find('second.example'), await find('new.example')]
    const rcpt = (to: string, answer: string) =>
      talk(...HELLO, '> MAIL FROM:<a@google.test>', '< 250 …', `> RCPT TO:<${to}>`, `< ${answer}`)
    await rcpt(buildReportAddress(other!), '250 …')
    await rcpt(address.toUpperCase(), '250 …')
    const [code, host] = address.split('@')
    await rcpt(`${code}@send.second.example`, '550 5.1.1 …')
    await rcpt(`${code!.slice(0, -1)}${code!.endsWith('0') ? 1 : 0}@${host}`, '550 5.1.1 …')
    await rcpt(`${code}@elsewhere.example`, '554 5.7.1 …')
    await rcpt(buildReportAddress(unverified!), '550 5.1.1 …')
  })

  test('the report address cannot be combined with another recipient in a transaction', () =>
    talk(
      ...HELLO,
      '> MAIL FROM:<a@google.test>',
      '< 250 …',
      `> RCPT TO:<${address}>`,
      '< 250 …',
      '> RCPT TO:<postmaster@send.acme.example>',
      '< 452 4.5.3 …',
    ))
})
