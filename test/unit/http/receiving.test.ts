import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { presentWebhookEvent } from '../../../appliance/api/webhook-payloads.ts'
import { createDeliveries } from '../../../appliance/events/fan-out.ts'
import { receiveMessage } from '../../../appliance/inbound/receive.ts'
import { createMimeReader, type MimeReader } from '../../../appliance/mime/mime.ts'
import { createThrottle } from '../../../appliance/clock/throttle.ts'
import type { SpamVerdict } from '../../../appliance/mail/inbound.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { makeReceiver } from '../../contract/received-emails.contract.ts'
import { ask, startApi, type Api } from './harness.ts'

let api: Api
let client: Resend
let mime: MimeReader
beforeAll(async () => {
  api = await startApi()
  client = new Resend(api.full, { baseUrl: api.url })
  mime = createMimeReader({ clock: api.clock, turns: api.capacity.turns })
  await api.senders.updateDomain({ teamId: api.teamId, id: api.domain.id, settings: { receiving: true } })
})
afterAll(async () => {
  await mime.close()
  await api.close()
})

/** Stores a message as the public MX receives it, from a server without DNS records. */
async function take(
  lines: string[],
  to = { teamId: api.teamId, domainId: api.domain.id },
  spam: SpamVerdict | null = null,
): Promise<string> {
  const resolver = { resolve: async () => ({ kind: 'absent', why: 'nxdomain', authentic: false }) as never }
  const { storage, clock } = api
  const receiver = { ...to, status: 'verified' as const, rules: [] }
  const { id } = await receiveMessage(
    {
      bytes: Buffer.from(lines.join('\r\n')),
      mailFrom: 'ada@x.example',
      ip: '192.0.2.1',
      helo: 'mx.x.example',
      tls: 'TLSv1.3',
      extended: true,
      recipients: [{ address: 'box@acme.example', receiver }],
    },
    {
      storage,
      mime,
      resolver,
      clock,
      log: createSilentLogger(),
      hostname: 'mail.acme.example',
      spamFilter: { judge: async () => spam },
      events: createThrottle(clock, 1, 1000),
    },
  )
  return id
}

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WITH_FILES = [
  'From: Ada <ada@x.example>',
  'To: box@acme.example',
  'Subject: Files',
  'Message-ID: <f1@x.example>',
  'Content-Type: multipart/mixed; boundary=m',
  '',
  '--m',
  'Content-Type: text/html',
  '',
  '<p>Hi <img src="cid:logo"></p>',
  '--m',
  'Content-Type: image/png; name=logo.png',
  'Content-ID: <logo>',
  'Content-Disposition: inline',
  'Content-Transfer-Encoding: base64',
  '',
  PIXEL,
  '--m',
  'Content-Type: text/html; name="<b>.html"',
  'Content-Disposition: attachment',
  '',
  '<script>1</script>',
  '--m--',
  '',
]

describe('the official client', () => {
  test('the official client lists and gets received email', async () => {
    const id = await take(['From: Ada <ada@x.example>', 'To: box@acme.example', 'Subject: Hi', '', 'Text'])
    const { data, error } = await client.emails.receiving.get(id)
    expect(error).toBeNull()
    expect(data).toMatchObject({
      object: 'email',
      id,
      from: 'Ada <ada@x.example>',
      to: ['box@acme.example'],
      subject: 'Hi',
      cc: [],
      bcc: [],
      reply_to: [],
      html: null,
      text: 'Text\n',
      attachments: [],
      message_id: `<${id}@mail.acme.example>`,
      received_for: ['box@acme.example'],
    })
    expect(data!.headers).toMatchObject({
      subject: 'Hi',
      'authentication-results': expect.stringMatching(/^mail\.acme\.example; spf=none/) as string,
    })
    const list = await client.emails.receiving.list()
    expect(list.data!.data[0]).toMatchObject({ id, subject: 'Hi' })
    expect(Object.keys(list.data!.data[0]!)).not.toContain('text')
  })

  test('the official client gets attachments with download links that need no key and expire', async () => {
    const id = await take(WITH_FILES)
    const { data } = await client.emails.receiving.attachments.list({ emailId: id })
    expect(data!.data).toMatchObject([
      { filename: 'logo.png', content_type: 'image/png', content_id: 'logo', content_disposition: 'inline' },
      { filename: '<b>.html', content_type: 'text/html', content_disposition: 'attachment' },
    ])
    const one = await client.emails.receiving.attachments.get({ emailId: id, id: data!.data[1]!.id })
    const file = await ask(one.data!.download_url, 'GET')
    expect([file.status, file.text.trim()]).toEqual([200, '<script>1</script>'])
    expect(file.headers.get('content-disposition')).toMatch(/^attachment;/)
    expect(file.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    await api.clock.advance(3_600_000)
    expect((await ask(one.data!.download_url, 'GET')).status).toBe(410)
    expect((await ask(`${one.data!.download_url}x`, 'GET')).status).toBe(404)
  })

  test.each([true, false])(
    'the official client forwards received email with passthrough: %s',
    async (passthrough) => {
      const emailId = await take(WITH_FILES)
      const to = { emailId, to: 'bo@customer.example', from: 'box@acme.example' }
      const forwarded = await client.emails.receiving.forward(
        passthrough ? to : { ...to, passthrough, text: 'See below.' },
      )
      expect(forwarded.error).toBeNull()
      const sent = await api.storage.getEmail({ teamId: api.teamId, id: forwarded.data!.id }, api.clock.now())
      expect(sent).toMatchObject({ subject: passthrough ? 'Files' : 'Fwd: Files' })
      expect(sent!.attachments.map(({ filename }) => filename)).toEqual(
        passthrough ? ['logo.png', '<b>.html'] : ['forwarded_message.eml'],
      )
    },
  )

  test('the official client replies within the thread, and the next reply is matched to the sent email', async () => {
    const reply = await client.emails.send({
      from: 'box@acme.example',
      to: 'ada@x.example',
      subject: 'Re: Hi',
      text: 'Hello',
      headers: { 'In-Reply-To': '<f1@x.example>', References: '<f1@x.example>' },
    })
    const sent = await api.storage.getEmail({ teamId: api.teamId, id: reply.data!.id }, api.clock.now())
    const id = await take(['From: ada@x.example', `In-Reply-To: ${sent!.messageId}`, '', 'Thanks'])
    const { json } = await api.call('GET', `/emails/receiving/${id}`)
    expect(json).toMatchObject({ in_reply_to_email_id: reply.data!.id })
    const list = await api.call('GET', `/emails/receiving?in_reply_to_email_id=${reply.data!.id}`)
    expect(list.json).toMatchObject({ data: [{ id }], has_more: false })
    const forged = await take([
      'From: ada@x.example',
      `In-Reply-To: <${reply.data!.id}@other.example>`,
      '',
      'x',
    ])
    expect((await api.call('GET', `/emails/receiving/${forged}`)).json).toMatchObject({
      in_reply_to_email_id: null,
    })
  })
})

test('inline images are embedded unless html_format is cid', async () => {
  const id = await take(WITH_FILES)
  const html = async (query: string) =>
    ((await api.call('GET', `/emails/receiving/${id}${query}`)).json as { html: string }).html
  expect(await html('')).toContain(`src="data:image/png;base64,${PIXEL}"`)
  expect(await html('?html_format=cid')).toContain('src="cid:logo"')
  expect((await api.call('GET', `/emails/receiving/${id}?html_format=x`)).status).toBe(422)
})

test('receiving rules of a domain are replaced as a whole, and invalid rules are rejected', async () => {
  const path = `/domains/${api.domain.id}/receiving-rules`
  expect((await api.call('GET', path)).json).toEqual({
    object: 'receiving_rules',
    domain_id: api.domain.id,
    rules: [],
  })
  const rules = [
    { pattern: 'Sales+*', action: 'keep' },
    { pattern: '*', action: 'refuse' },
  ]
  const set = await api.call('PUT', path, { rules })
  const stored = [{ pattern: 'sales+*', action: 'keep' }, rules[1]]
  expect([set.status, set.json]).toMatchObject([200, { rules: stored }])
  expect((await api.call('GET', path)).json).toMatchObject({ rules: stored })
  for (const pattern of ['a@b', 'a b', '"x"', ''])
    expect((await api.call('PUT', path, { rules: [{ pattern, action: 'keep' }] })).status).toBe(422)
  expect((await api.call('PUT', path, { rules: [{ pattern: 'a', action: 'bounce' }] })).status).toBe(422)
  for (const rule of [{ action: 'forward' }, { action: 'keep', to: ['a@x.example'] }]) {
    const refused = await api.call('PUT', path, { rules: [{ pattern: 'a', ...rule }] })
    expect([refused.status, refused.json]).toMatchObject([
      422,
      { message: expect.stringContaining('rules[0].to') as string },
    ])
  }
  for (const to of [
    [],
    ['Ada <a@x.example>'],
    ['nobody'],
    Array.from({ length: 11 }, (_, i) => `a${i}@x.example`),
  ])
    expect((await api.call('PUT', path, { rules: [{ pattern: 'a', action: 'forward', to }] })).status).toBe(
      422,
    )
  const forward = { pattern: 'a', action: 'forward', to: ['Ada@X.example', 'Ada@x.example'] }
  expect((await api.call('PUT', path, { rules: [forward] })).json).toMatchObject({
    rules: [{ ...forward, to: ['Ada@x.example'] }],
  })
  const many = Array.from({ length: 101 }, () => rules[1])
  expect((await api.call('PUT', path, { rules: many })).status).toBe(422)
  expect((await api.call('GET', `/domains/${newId(api.clock.now())}/receiving-rules`)).status).toBe(404)
  expect((await api.call('PUT', path, { rules: [] })).json).toMatchObject({ rules: [] })
})

test('the source of a received email can be downloaded, and its webhook deliveries listed', async () => {
  const endpoint = 'https://hooks.acme.example/received'
  const webhook = await api.call('POST', '/webhooks', { endpoint, events: ['email.received'] })
  const id = await take(WITH_FILES)
  const source = await api.call('GET', `/emails/receiving/${id}/source`)
  expect(source.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w-]+\.eml"/)
  expect(source.text).toMatch(/^Return-Path: <ada@x.example>\r\n/)
  const now = api.clock.now()
  const events = await api.storage.readOutbox({ limit: 1000 }, now)
  const deliveries = createDeliveries(events.events, events.webhooks, now)
  await api.storage.fanOutWebhooks({ from: events.from, to: events.to, deliveries }, now)
  const told = await api.call('GET', `/emails/receiving/${id}/webhooks`)
  expect(told.json).toMatchObject({
    object: 'list',
    has_more: false,
    data: [
      {
        type: 'email.received',
        email_id: id,
        status: 'pending',
        webhook_id: (webhook.json as { id: string }).id,
        about: { object: 'received_email', id, removed: false },
      },
    ],
  })
})

test('another team cannot read a received email', async () => {
  const other = await makeReceiver(api.storage)
  const id = await take(['From: a@b.example', '', 'x'], other)
  for (const path of ['', '/source', '/webhooks', '/attachments', `/attachments/${newId(api.clock.now())}`])
    expect((await api.call('GET', `/emails/receiving/${id}${path}`)).status).toBe(404)
})

test('a message that cannot be parsed is stored, and shown without content', async () => {
  const parts = Array.from(
    { length: 1100 },
    () => '--m\r\nContent-Type: text/plain; charset=iso-2022-jp\r\n\r\nx',
  )
  const id = await take([
    'From: a@b.example',
    'Content-Type: multipart/mixed; boundary=m',
    '',
    ...parts,
    '--m--',
  ])
  const { json } = await api.call('GET', `/emails/receiving/${id}`)
  expect(json).toMatchObject({
    html: null,
    text: null,
    attachments: [],
    raw: { download_url: expect.any(String) as string },
  })
})

test('the email.received webhook has the fields of the hosted service, and no content', async () => {
  const id = await take(WITH_FILES)
  const now = api.clock.now()
  const range = { teamId: api.teamId, since: 0, until: now + 1, after: null, limit: 1000 }
  const events = await api.storage.listTeamEvents(range, now)
  const event = events.findLast(({ type }) => type === 'email.received')!
  const { type, data } = presentWebhookEvent(event)
  expect(type).toBe('email.received')
  expect(data).toEqual({
    email_id: id,
    created_at: expect.stringMatching(/Z$/) as string,
    from: 'Ada <ada@x.example>',
    to: ['box@acme.example'],
    cc: [],
    bcc: [],
    received_for: ['box@acme.example'],
    message_id: '<f1@x.example>',
    subject: 'Files',
    attachments: [
      {
        id: expect.any(String) as string,
        filename: 'logo.png',
        content_type: 'image/png',
        content_disposition: 'inline',
        content_id: 'logo',
      },
      {
        id: expect.any(String) as string,
        filename: '<b>.html',
        content_type: 'text/html',
        content_disposition: 'attachment',
        content_id: null,
      },
    ],
  })
})

test('shows the spam filter’s verdict, filters by it, adds it to the headers, and removes forged headers', async () => {
  const verdict = { flagged: true, score: 7.25, rejectScore: 15, symbols: ['HEAVY', 'BAD\r\nX: y'] }
  const lines = ['From: a@x.example', 'X-Spam-Status: No', 'X-Spam-Flag: NO', 'Subject: Win', '', 'x']
  const id = await take(lines, undefined, verdict)
  const { json } = await api.call('GET', `/emails/receiving/${id}`)
  expect(json).toMatchObject({
    spam: { flagged: true, score: 7.25, reject_score: 15, symbols: verdict.symbols },
  })
  const { headers } = json as { headers: Record<string, string> }
  expect(headers['x-spam-status']).toMatch(/^Yes, score=7.3 required=15.0 tests=HEAVY,\s+BADX:y$/)
  expect(headers).not.toHaveProperty('x-spam-flag')
  const listed = async (spam: boolean) => {
    const list = await api.call('GET', `/emails/receiving?spam=${spam}`)
    return (list.json as { data: { id: string }[] }).data.map((one) => one.id)
  }
  expect(await listed(true)).toEqual([id])
  expect(await listed(false)).not.toContain(id)
})
