import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { splitMessage, getUnfoldedValue } from '../../appliance/mail/headers.ts'
import { createLogger } from '../../appliance/watch/log.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'

/**
 * Tests ordinary mail of the frameworks' own transports. Each body is byte for byte what Laravel, Symfony, Rails and
 * n8n send. The sender's name contains a comma, `full` has every field that an app can set, and Rails writes some odd
 * values.
 */

const lines: Record<string, unknown>[] = []
let appliance: TestAppliance
beforeAll(async () => {
  const log = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  appliance = await startAppliance({
    log: createLogger('info', log),
    config: { smtp: { starttls: ['127.0.0.1:0'] } as never },
  })
})
afterAll(() => appliance.close())

const bodyOf = (name: string) =>
  readFileSync(join(import.meta.dirname, '../fixtures/frameworks', `${name}.json`), 'utf8')

async function ask(method: string, path: string, body?: string): Promise<Response> {
  return fetch(appliance.url + path, {
    method,
    headers: { authorization: `Bearer ${appliance.apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  })
}

/** Sends a body as is. Returns the email's ID, and the message with its header fields by lower-case name. */
async function send(name: string) {
  const response = await ask('POST', '/emails', bodyOf(name))
  const { id } = (await response.json()) as { id: string }
  expect([response.status, id]).toEqual([200, expect.any(String)])
  const bytes = Buffer.from(await (await ask('GET', `/emails/${id}/source`)).arrayBuffer())
  const fields = splitMessage(bytes).fields.map((field) => [
    field.name.toLowerCase(),
    getUnfoldedValue(field),
  ])
  return {
    id,
    fields: Object.fromEntries(fields) as Record<string, string>,
    mail: await PostalMime.parse(bytes),
  }
}

/** Returns the fields that were ignored, according to the request's log line. */
async function droppedFrom(id: string): Promise<unknown> {
  const line = () => lines.find(({ email_id, method }) => email_id === id && method === 'POST')
  await expect.poll(line).toBeDefined()
  return line()!.dropped_headers
}

const ada = { name: '', address: 'ada@customer.test' }
const lovelace = { name: 'Ada Lovelace', address: 'ada@customer.test' }
const acme = { name: 'Acme, Inc.', address: 'hello@example.test' }

describe.each(['laravel', 'symfony', 'rails'])('%s', (framework) => {
  test('sends mail without custom headers', async () => {
    const { id, fields, mail } = await send(`${framework}-plain`)
    expect(fields.from).toBe('"Acme, Inc." <hello@example.test>')
    expect(mail.to).toEqual([framework === 'laravel' ? lovelace : ada])
    expect(mail.subject).toBe(framework === 'rails' ? 'Plain' : 'Grüße & "Küsse"')
    expect(await droppedFrom(id)).toEqual(framework === 'rails' ? ['Content-Transfer-Encoding'] : undefined)
  })

  test('sends mail with an attachment', async () => {
    const { mail } = await send(`${framework}-attachment`)
    expect(mail.attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual([
      ['invoice.pdf', 'application/pdf'],
    ])
    expect(Buffer.from(mail.attachments[0]!.content as ArrayBuffer).toString()).toBe('%PDF')
  })
})

describe('headers from frameworks', () => {
  test('laravel: drops headers that it may not set and sends the others', async () => {
    const { id, fields, mail } = await send('laravel-full')
    expect(fields).toMatchObject({
      'x-entity-ref-id': '7',
      'x-priority': '2 (High)',
      'message-id': '<1234@example.test>',
    })
    expect(mail.from).toEqual(acme)
    expect(mail.replyTo?.map(({ name }) => name)).toEqual([
      'Отдел по работе с обращениями клиентов и партнёров, Поддержка',
    ])
    expect(fields).not.toHaveProperty('return-path')
    expect(fields.date).not.toContain('20 Nov 2026')
    expect(await droppedFrom(id)).toEqual(['Return-Path', 'Date'])
  })

  test('symfony: unfolds a folded header and drops Sender', async () => {
    const { id, fields, mail } = await send('symfony-full')
    expect(fields).toMatchObject({
      'x-entity-ref-id': '7',
      'x-metadata-order': '7',
      'reply-to': 'help@example.test',
    })
    expect(mail.cc).toEqual([{ name: '', address: 'carl@customer.test' }])
    expect(fields).not.toHaveProperty('sender')
    expect(fields).not.toHaveProperty('bcc')
    expect(await droppedFrom(id)).toEqual(['Return-Path', 'Date', 'Sender'])
  })

  test('rails: drops a header with a non-text value', async () => {
    const { id, fields, mail } = await send('rails-full')
    expect([mail.text, mail.html]).toEqual(['Hi Ada\n', '<p>Hi Ada</p>\n'])
    expect(fields).toMatchObject({ 'x-entity-ref-id': '7', 'reply-to': 'help@example.test' })
    expect(await droppedFrom(id)).toEqual(['Return-Path', 'Content-Transfer-Encoding'])
  })
})

describe('n8n', () => {
  test('n8n: sends, schedules and reschedules with camelCase field names', async () => {
    const { id, fields, mail } = await send('n8n-send')
    expect(fields['reply-to']).toBe('help@example.test')
    expect(mail.attachments[0]).toMatchObject({ mimeType: 'image/png', contentId: '<logo>' })
    const before = (
      await appliance.call<{ last_event: string; scheduled_at: string }>('GET', `/emails/${id}`)
    ).body
    expect(before.last_event).toBe('scheduled')
    expect((await ask('PATCH', `/emails/${id}`, bodyOf('n8n-reschedule'))).status).toBe(200)
    const after = (await appliance.call<{ scheduled_at: string }>('GET', `/emails/${id}`)).body
    expect(after.scheduled_at > before.scheduled_at).toBe(true)
  })

  test('n8n: sends with the options of the node Send Email, which uses nodemailer over SMTP', async () => {
    const [host, port] = appliance.appliance.smtp.starttls[0]!.split(':') as [string, string]
    const options = { host, port: Number(port), secure: false, ignoreTLS: false }
    const access = { auth: { user: 'posthaste', pass: appliance.apiKey }, tls: { rejectUnauthorized: false } }
    const files = { disableFileAccess: true, disableUrlAccess: true } as never
    const sent = await createTransport({ ...options, ...access }, files).sendMail({
      from: '"Acme, Inc." <hello@example.test>',
      to: 'ada@customer.test, bob@customer.test',
      cc: 'carl@customer.test',
      bcc: 'berta@customer.test',
      replyTo: 'help@example.test',
      subject: 'From a workflow',
      text: 'Hi\n\n---\nThis email was sent automatically with n8n',
      attachments: [{ filename: 'invoice.pdf', content: Buffer.from('%PDF') }],
    })
    expect(sent.rejected).toEqual([])
    const id = /Queued as ([\da-f-]{36})/.exec(sent.response)![1]!
    expect((await appliance.call('GET', `/emails/${id}`)).body).toMatchObject({
      from: '"Acme, Inc." <hello@example.test>',
      to: ['ada@customer.test', 'bob@customer.test'],
      cc: ['carl@customer.test'],
      bcc: ['berta@customer.test'],
      reply_to: ['help@example.test'],
    })
  })

  test('n8n: updates a domain with uppercase constants', async () => {
    const { body } = await appliance.call<{ data: { id: string }[] }>('GET', '/domains')
    const path = `/domains/${body.data[0]!.id}`
    expect((await ask('PATCH', path, bodyOf('n8n-domain'))).status).toBe(200)
    expect((await appliance.call('GET', path)).body).toMatchObject({
      open_tracking: true,
      click_tracking: false,
      tls: 'enforced',
      capabilities: { sending: 'enabled' },
    })
  })
})

describe('the official npm client', () => {
  const client = () => new Resend(appliance.apiKey, { baseUrl: appliance.url })

  test('sends from a name with a comma, with headers that the server sets', async () => {
    const { data, error } = await client().emails.send({
      from: 'Acme, Inc. <hello@example.test>',
      to: 'Lovelace, Ada (London) <ada@customer.test>',
      replyTo: "O'Brien, Pat <help@example.test>",
      subject: 'Hello',
      text: 'Hi Ada',
      headers: { 'Return-Path': '<bounces@example.test>', 'X-Entity-Ref-ID': '7' },
    })
    expect(error).toBeNull()
    const { data: email } = await client().emails.get(data!.id)
    expect(email).toMatchObject({
      from: '"Acme, Inc." <hello@example.test>',
      to: ['"Lovelace, Ada (London)" <ada@customer.test>'],
      reply_to: ['"O\'Brien, Pat" <help@example.test>'],
    })
  })

  test('gets an error that names the unsupported API feature', async () => {
    const { error } = await client().oauthGrants.list()
    expect(error).toEqual({
      statusCode: 404,
      name: 'not_found',
      message: 'The requested endpoint does not exist: this server version does not support OAuth grants.',
    })
  })
})
