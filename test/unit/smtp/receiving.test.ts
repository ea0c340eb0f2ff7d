import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { play, readDialogs } from '../../dialogs/runner.ts'
import { sendWithNodemailer } from './clients.ts'
import { startDoor, type Door } from './harness.ts'

let door: Door
beforeAll(async () => {
  door = await startDoor()
  const acme = await door.senders.findDomain({ teamId: door.teamId, name: 'acme.example' })
  await door.senders.updateDomain({ teamId: door.teamId, id: acme!.id, settings: { receiving: true } })
})
afterAll(() => door.close())

async function talk(...lines: string[]): Promise<void> {
  const [dialog] = readDialogs(['=== a conversation @relay', '< 220 …', ...lines].join('\n'))
  expect(await play(dialog!, door)).toBeNull()
}

const HELLO = [
  '> EHLO mx.customer.example',
  '* 250-STARTTLS',
  '> MAIL FROM:<ada@customer.example>',
  '< 250 …',
]
const to = (address: string) => [`> RCPT TO:<${address}>`, '< 250 2.1.5 Recipient ok']
const data = (lines: string[], answer = '250 2.0.0 Received as …') => [
  '> DATA',
  '< 354 …',
  ...lines.map((line) => `> ${line}`),
  '> .',
  `< ${answer}`,
]

async function received() {
  const now = door.clock.now()
  const { items } = await door.storage.listReceivedEmails({ teamId: door.teamId, limit: 100 }, now)
  return items
}
async function source(id: string): Promise<string> {
  const bytes = await door.storage.getReceivedSource({ teamId: door.teamId, id }, door.clock.now())
  return Buffer.from(bytes!).toString()
}

describe('mail to a receiving domain', () => {
  test('mail to a receiving domain is accepted for any address, with trace fields prepended', async () => {
    await talk(
      ...HELLO,
      ...to('sales@acme.example'),
      ...to('Anything+Else@ACME.example'),
      ...data(
        ['From: =?utf-8?q?Ad=C3=A4?= <ada@customer.example>', 'To: "A, B" <b@x.example>, c@x.example'].concat(
          ['Return-Path: <old@x.example>', 'Subject: Hi', 'Message-ID: <m1@customer.example>', '', 'Text'],
        ),
      ),
    )
    const [email] = await received()
    expect(email).toMatchObject({
      mailFrom: 'ada@customer.example',
      from: 'Adä <ada@customer.example>',
      subject: 'Hi',
      to: ['"A, B" <b@x.example>', 'c@x.example'],
      messageId: '<m1@customer.example>',
      answers: null,
      receivedFor: ['sales@acme.example', 'Anything+Else@acme.example'],
      authentication: { spf: { result: 'temperror' }, dkim: { result: 'none' } },
    })
    const message = await source(email!.id)
    expect(message.split('\r\n').slice(0, 5)).toEqual([
      'Return-Path: <ada@customer.example>',
      'Authentication-Results: mail.acme.example;',
      expect.stringMatching(/^ spf=temperror smtp.mailfrom=ada@customer.example;$/),
      ' dkim=none;',
      expect.stringMatching(/^ dmarc=\w+ header.from=customer.example;$/),
    ])
    expect(message).toContain(`by mail.acme.example with ESMTP id ${email!.id};\r\n`)
    expect(message).not.toContain('old@x.example')
    expect(message.endsWith('\r\n\r\nText\r\n')).toBe(true)
  })

  test('removes Authentication-Results fields that claim to be from this server, however spelled', async () => {
    const forged = [
      'mail.acme.example; dmarc=pass',
      ' (x) "MAIL.acme.example" 1; dkim=pass',
      '(a (b (c)) d) mail.acme.example; spf=pass',
      'other.example; spf=fail',
    ]
    await talk(
      ...HELLO,
      ...to('a@acme.example'),
      ...data([...forged.map((value) => `Authentication-Results: ${value}`), 'From: a@b.example', '', 'x']),
    )
    const [email] = await received()
    const found = (await source(email!.id)).match(/^authentication-results:.*/gim)
    expect(found).toEqual([
      'Authentication-Results: mail.acme.example;',
      'Authentication-Results: other.example; spf=fail',
    ])
  })

  test('received mail is matched to the email it replies to by the full Message-ID', async () => {
    expect((await sendWithNodemailer(door, {})).ok).toBe(true)
    const [sent] = await door.emails()
    const api = `<${sent!.id}@acme.example>`
    expect(sent!.messageId).toBeTruthy()
    await talk(
      ...HELLO,
      ...to('a@acme.example'),
      ...data(['From: a@b.example', `In-Reply-To: ${sent!.messageId}`, `References: ${api} <z@x>`, '', 'x']),
    )
    const [email] = await received()
    expect(email!.answers).toBe(sent!.messageId === api ? sent!.id : null)
  })

  test('received mail without any header field is stored, and gets a Message-ID', async () => {
    await talk(...HELLO, ...to('a@acme.example'), ...data(['', 'just text']))
    const [email] = await received()
    expect(email).toMatchObject({ from: '', subject: '', messageId: `<${email!.id}@mail.acme.example>` })
    expect((await source(email!.id)).endsWith('\r\n\r\njust text\r\n')).toBe(true)
  })

  test('received mail is not relayed to other domains, nor mixed with postmaster mail', async () => {
    await talk(
      ...HELLO,
      ...to('a@acme.example'),
      '> RCPT TO:<ada@customer.example>',
      '< 554 5.7.1 …',
      '> RCPT TO:<a@second.example>',
      '< 554 5.7.1 …',
      '> RCPT TO:<a@sub.acme.example>',
      '< 554 5.7.1 …',
      '> RCPT TO:<postmaster@mail.acme.example>',
      '< 452 4.5.3 …',
      ...data(['From: a@b.example', '', 'x']),
    )
  })

  test('rejects received mail as a loop after four passes through this server or more than 50 servers', async () => {
    const own = Array.from({ length: 4 }, () => 'Received: from a by mail.acme.example with ESMTP; now')
    const far = Array.from({ length: 51 }, () => 'Received: from a by b.example; now')
    const rset = ['> MAIL FROM:<ada@customer.example>', '< 250 …']
    await talk(
      ...HELLO,
      ...to('a@acme.example'),
      ...data([...own, '', 'x'], '554 5.4.6 …'),
      ...rset,
      ...to('a@acme.example'),
      ...data([...far, '', 'x'], '554 5.4.6 …'),
      ...rset,
      ...to('a@acme.example'),
      ...data([...own.slice(1), '', 'x']),
    )
  })

  test('received mail is rejected, discarded or stored according to the receiving rules', async () => {
    const acme = await door.senders.findDomain({ teamId: door.teamId, name: 'acme.example' })
    const about = { teamId: door.teamId, domainId: acme!.id }
    const rules = [
      { pattern: 'news*', action: 'drop' as const },
      { pattern: 'sales', action: 'keep' as const },
      { pattern: '*', action: 'refuse' as const },
    ]
    await door.storage.setReceivingRules({ ...about, rules }, door.clock.now())
    const before = (await received()).length
    const again = ['> MAIL FROM:<ada@customer.example>', '< 250 …']
    await talk(
      ...HELLO,
      '> RCPT TO:<nobody@acme.example>',
      '< 550 5.1.1 …',
      ...to('POSTMASTER@acme.example'),
      ...to('NEWS+1@acme.example'),
      ...data(['Subject: Both', '', 'x']),
      ...again,
      ...to('news@acme.example'),
      ...data(['Subject: Discarded', '', 'x']),
    )
    await door.storage.setReceivingRules({ ...about, rules: [] }, door.clock.now())
    const emails = await received()
    expect(emails.length).toBe(before + 1)
    expect(emails[0]).toMatchObject({ subject: 'Both', receivedFor: ['POSTMASTER@acme.example'] })
  })

  test('a rule forwards received mail as a new email, except for reports, automatic mail and loops', async () => {
    const acme = await door.senders.findDomain({ teamId: door.teamId, name: 'acme.example' })
    const about = { teamId: door.teamId, domainId: acme!.id }
    const rules = [{ pattern: 'support', action: 'forward' as const, to: ['bo@far.example'] }]
    await door.storage.setReceivingRules({ ...about, rules }, door.clock.now())
    const again = (from: string) => [`> MAIL FROM:<${from}>`, '< 250 …', ...to('support@acme.example')]
    const next = again('ada@customer.example')
    await talk(
      ...HELLO,
      ...to('support@acme.example'),
      ...data([
        'From: Ada <ada@customer.example>',
        'Subject: Help',
        'Auto-Submitted: no (sent by hand)',
        '',
        'It is broken.',
      ]),
      ...again(''),
      ...data(['Subject: Returned', '', 'x']),
      ...next,
      ...data(['Subject: Loop', 'X-Posthaste-Forwarded: other.example', '', 'x']),
      ...next,
      ...data(['Subject: Away', 'Auto-Submitted: auto-replied', '', 'x']),
      ...next,
      ...data(['Subject: Nightly', 'Auto-Submitted: auto-generated; x=y', '', 'x']),
      ...next,
      ...data(['Subject: Report', 'Content-Type: multipart/report; boundary=b', '', 'x']),
    )
    const forwards = async () => {
      const found = (await received()).slice(0, 6).map(async ({ id, subject }) => {
        const [one] = await door.storage.listForwards(
          { teamId: door.teamId, receivedId: id },
          door.clock.now(),
        )
        return { subject, ...one! }
      })
      return Promise.all(found)
    }
    await expect.poll(async () => (await forwards()).map(({ state }) => state)).not.toContain('pending')
    const [report, nightly, away, loop, returned, help] = await forwards()
    expect([report, nightly, away, loop, returned]).toMatchObject([
      { subject: 'Report', reason: 'It is a report about another message.' },
      { subject: 'Nightly', reason: 'It is automatic mail (Auto-Submitted: auto-generated).' },
      { subject: 'Away', reason: 'It is automatic mail (Auto-Submitted: auto-replied).' },
      { subject: 'Loop', reason: 'It was forwarded before, so this is a mail loop.' },
      { subject: 'Returned', reason: 'It has the null sender, like a bounce.' },
    ])
    expect(help).toMatchObject({ subject: 'Help', to: 'bo@far.example', state: 'sent' })
    const sent = (await door.emails()).find(({ tags }) => tags.some(({ name }) => name === 'forwarded'))!
    expect(sent).toMatchObject({
      from: 'Ada via acme.example <forward@acme.example>',
      to: ['bo@far.example'],
      subject: 'Help',
      replyTo: ['Ada <ada@customer.example>'],
      id: (help as { emailId: string }).emailId,
      attachments: [{ filename: 'original.eml', contentType: 'message/rfc822' }],
    })
    const message = await door.message(sent.id)
    expect(message).toContain('X-Posthaste-Forwarded: acme.example\r\n')
    expect(message).toContain('It is broken.')
    expect((await received())[5]!.receivedFor).toEqual(['support@acme.example'])
    await door.storage.setReceivingRules({ ...about, rules: [] }, door.clock.now())
  })

  test('received mail with a webhook-only rule is not stored, and only emits an event', async () => {
    const acme = await door.senders.findDomain({ teamId: door.teamId, name: 'acme.example' })
    const about = { teamId: door.teamId, domainId: acme!.id }
    const rules = [{ pattern: 'hook', action: 'webhook' as const }]
    await door.storage.setReceivingRules({ ...about, rules }, door.clock.now())
    const before = (await received()).length
    await talk(...HELLO, ...to('hook@acme.example'), ...data(['Subject: Told', '', 'x']))
    expect((await received()).length).toBe(before)
    const now = door.clock.now()
    const range = { teamId: door.teamId, since: 0, until: now + 1, after: null, limit: 1000 }
    const events = await door.storage.listTeamEvents(range, now)
    const told = events.filter(({ data }) => data.received?.subject === 'Told')
    expect(told).toMatchObject([
      { type: 'email.received', data: { received: { receivedFor: ['hook@acme.example'] } } },
    ])
    await door.storage.setReceivingRules({ ...about, rules: [] }, now)
  })

  test('received mail may have long lines but no bare LF', async () => {
    const rset = ['> MAIL FROM:<ada@customer.example>', '< 250 …']
    await talk(
      ...HELLO,
      ...to('a@acme.example'),
      ...data(['From: a@b.example', '', 'x'.repeat(9000)]),
      ...rset,
      ...to('a@acme.example'),
      '> DATA',
      '< 354 …',
      '! "a\\nb\\r\\n.\\r\\n"',
      '< 554 5.6.0 The message has a bare LF. …',
    )
  })
})
