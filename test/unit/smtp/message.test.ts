import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDoor, type Door } from './harness.ts'
import { sendWithNodemailer } from './clients.ts'

let door: Door
beforeAll(async () => {
  door = await startDoor()
})
afterAll(() => door.close())

const idOf = (text: string) => /Queued as ([\da-f-]{36})/.exec(text)?.[1] ?? text
const raw = (lines: string[], to = ['ada@customer.example']) => ({
  raw: lines.join('\r\n'),
  envelope: { from: 'app@acme.example', to },
})
const find = async (id: string) =>
  (await door.storage.getEmail({ teamId: door.teamId, id }, door.clock.now()))!

describe('a message submitted over SMTP', () => {
  test('the message is kept byte for byte, with Received and missing fields prepended', async () => {
    const mail = raw(['From: app@acme.example', 'X-Odd:   spaces   kept', '', 'Body  with   spaces', '.dot'])
    const id = idOf((await sendWithNodemailer(door, mail)).text)
    const message = await door.message(id)
    expect(message).toMatch(
      new RegExp(
        '^Received: from \\S+ \\(\\[127\\.0\\.0\\.1\\]\\)\\r\\n' +
          ` by mail\\.acme\\.example with ESMTPSA id ${id};\\r\\n` +
          ' \\w{3}, \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d \\+0000\\r\\n' +
          `Message-ID: <${id}@acme\\.example>\\r\\nDate: .+\\r\\nMIME-Version: 1\\.0\\r\\nFrom: `,
      ),
    )
    expect(message.split('MIME-Version: 1.0\r\n')[1]).toBe(
      'From: app@acme.example\r\nX-Odd:   spaces   kept\r\n\r\nBody  with   spaces\r\n.dot\r\n',
    )
  })

  test('rejects a message with an unsubscribe tag in its subject or text, in any encoding', async () => {
    const tag = '{{{ RESEND_UNSUBSCRIBE_URL | here }}}'
    const refused =
      '554 5.6.0 Tags such as {{{UNSUBSCRIBE_URL}}} are not filled in over SMTP. Send the email with the API, or use a broadcast.'
    const send = async (mail: object) => (await sendWithNodemailer(door, mail)).text
    const encodings = ['base64', 'quoted-printable'] as const
    for (const textEncoding of encodings)
      expect(await send({ html: `<p>${'é '.repeat(50)}${tag}</p>`, textEncoding })).toBe(refused)
    expect(await send({ text: `Leave: ${tag}` })).toBe(refused)
    expect(await send({ subject: tag })).toBe(refused)
    const attachments = [{ filename: 'template.html', content: `<a href="${tag}">` }]
    expect(await send({ text: 'Write {{{ before UNSUBSCRIBE_URL', attachments })).toMatch(/^250 /)
  })

  test('removes white space before the colon of a field name', async () => {
    const mail = raw(['From: app@acme.example', 'X-Sp : v', 'X-Tab\t: v : w', 'X-Folded \r\n : v', '', 'Hi'])
    const message = await door.message(idOf((await sendWithNodemailer(door, mail)).text))
    expect(message.slice(message.indexOf('From: app'))).toBe(
      'From: app@acme.example\r\nX-Sp: v\r\nX-Tab: v : w\r\nX-Folded: v\r\n\r\nHi\r\n',
    )
  })

  test('removes Bcc, Return-Path and the X- fields that Posthaste reads', async () => {
    const mail = raw(
      [
        'Return-Path: <evil@stranger.example>',
        'From: app@acme.example',
        'To: Ada <ada@customer.example>',
        'Bcc: secret@customer.example,',
        ' folded@customer.example',
        'X-Posthaste-Tag-kind: receipt',
        'X-Resend-Tag-Order: 7',
        'X-Posthaste-Scheduled-At: in 1 hour',
        'X-Posthaste-Stream: broadcast',
        'Message-ID: <mine@acme.example>',
        'Date: Fri, 20 Nov 2026 10:00:00 +0000',
        'MIME-Version: 1.0',
        '',
        'Hi',
      ],
      ['ada@customer.example', 'secret@customer.example'],
    )
    const id = idOf((await sendWithNodemailer(door, mail)).text)
    const message = await door.message(id)
    expect(message.slice(message.indexOf('From: app'))).toBe(
      'From: app@acme.example\r\nTo: Ada <ada@customer.example>\r\nMessage-ID: <mine@acme.example>\r\n' +
        'Date: Fri, 20 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n\r\nHi\r\n',
    )
    const email = await find(id)
    expect(email).toMatchObject({
      via: 'smtp',
      from: 'app@acme.example',
      to: ['Ada <ada@customer.example>'],
      bcc: ['secret@customer.example'],
      messageId: '<mine@acme.example>',
      lastEvent: 'scheduled',
    })
    expect(email.tags).toEqual([
      { name: 'kind', value: 'receipt' },
      { name: 'order', value: '7' },
    ])
    expect(email.scheduledAt! - email.createdAt).toBeGreaterThan(3_590_000)
    const leased = await door.storage.lease(
      { owner: 'x', limit: 100, room: {}, roomElse: 100, leaseUntil: 1, retryDelays: [1e9] },
      email.scheduledAt!,
    )
    expect(leased.find(({ emailId }) => emailId === id)).toMatchObject({ stream: 'broadcast' })
  })

  test('the message is shown with its subject, bodies and attachments', async () => {
    const id = idOf(
      (
        await sendWithNodemailer(door, {
          from: '"Müller, Jörg" <app@acme.example>',
          subject: 'Grüße ✓',
          text: 'Hallo',
          html: '<p>Hallo</p>',
          headers: { 'X-Order': '7' },
          attachments: [{ filename: 'a.txt', content: 'Inhalt' }],
        })
      ).text,
    )
    const email = await find(id)
    expect(email).toMatchObject({
      from: '"Müller, Jörg" <app@acme.example>',
      subject: 'Grüße ✓',
      content: { place: 'message', html: null, text: null },
    })
    expect(await door.content(id)).toEqual({ html: '<p>Hallo</p>\n', text: 'Hallo\n' })
    expect(email.headers).toContainEqual({ name: 'X-Order', value: '7' })
    expect(email.attachments).toEqual([
      {
        id: expect.any(String) as string,
        filename: 'a.txt',
        contentType: 'text/plain',
        contentId: null,
        disposition: 'attachment',
        size: 6,
      },
    ])
  })

  test('the message is delivered to the envelope recipients, not to those in the header', async () => {
    const mail = raw(
      ['From: app@acme.example', 'To: shown@customer.example', '', 'Hi'],
      ['real@customer.example'],
    )
    const id = idOf((await sendWithNodemailer(door, mail)).text)
    const { deliveries } = await door.storage.getHistory({ teamId: door.teamId, id }, door.clock.now())
    expect(deliveries.map(({ recipient, field }) => `${field} ${recipient}`)).toEqual([
      'bcc real@customer.example',
    ])
  })

  test('the message keeps its DSN parameters', async () => {
    const dsn = {
      id: 'order+7',
      return: 'headers',
      notify: ['success'],
      recipient: 'ada@customer.example',
    } as const
    await sendWithNodemailer(door, { dsn: { ...dsn, notify: ['success'] } })
    const [email] = door.puts.at(-1)!.emails
    expect(email).toMatchObject({
      reportTo: 'app@acme.example',
      dsn: { ret: 'HDRS', envid: 'order+7' },
      deliveries: [{ dsn: { notify: ['SUCCESS'], orcpt: 'rfc822;ada@customer.example' } }],
    })
  })
})

describe('an SMTP idempotency key', () => {
  const keyed = (text: string) => ({ text, headers: { 'Resend-Idempotency-Key': 'order-7' } })

  test('a repeated key returns the first email, even if Date, Message-ID and boundaries differ', async () => {
    const first = await sendWithNodemailer(door, keyed('Hi'))
    const second = await sendWithNodemailer(door, keyed('Hi'))
    expect(second).toEqual(first)
    expect(await door.message(idOf(first.text))).not.toMatch(/idempotency/i)
  })

  test('a repeated key with a different message is rejected', async () => {
    expect((await sendWithNodemailer(door, keyed('Changed'))).text).toMatch(
      /^554[ -]5\.5\.1 This idempotency key has been used/,
    )
  })
})

describe('smtp.hide_client', () => {
  const lines = [
    'Received: from laptop.internal ([10.1.2.3]) by relay.internal with ESMTP id 1;',
    ' Fri, 20 Nov 2026 10:00:00 +0000',
    'X-Originating-IP: [10.1.2.3]',
    'x-received: by 10.1.2.4 with SMTP id 2; Fri, 20 Nov 2026 10:00:00 +0000',
    'X-Client-Ip: 10.1.2.5',
    'From: app@acme.example',
    'X-Order: 7',
    '',
    'Hi from 10.1.2.3',
  ]

  test('smtp.hide_client removes the name and address of the client and earlier hops from the message', async () => {
    const hiding = await startDoor({ config: { hideClient: true } })
    try {
      const id = idOf((await sendWithNodemailer(hiding, raw(lines))).text)
      const message = await hiding.message(id)
      expect(message).toMatch(
        new RegExp(
          `^Received: by mail\\.acme\\.example with ESMTPSA id ${id};\\r\\n` +
            ' \\w{3}, \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d \\+0000\\r\\nMessage-ID: ',
        ),
      )
      expect(message.slice(message.indexOf('MIME-Version'))).toBe(
        'MIME-Version: 1.0\r\nFrom: app@acme.example\r\nX-Order: 7\r\n\r\nHi from 10.1.2.3\r\n',
      )
      expect(message.slice(0, message.indexOf('From:'))).not.toMatch(/127\.0\.0\.1|10\.1\.2/)
    } finally {
      await hiding.close()
    }
  })

  test('smtp.hide_client is off by default: the Received fields of earlier hops are kept', async () => {
    const message = await door.message(idOf((await sendWithNodemailer(door, raw(lines))).text))
    expect(message).toMatch(/^Received: from \S+ \(\[127\.0\.0\.1\]\)\r\n by /)
    expect(message).toContain(lines.slice(0, 5).join('\r\n'))
  })
})
