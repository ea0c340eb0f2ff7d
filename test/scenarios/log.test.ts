import nodemailer from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../appliance/watch/log.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'
import { PATIENCE } from '../world/patience.ts'

/** Tests what the log of a run must and must not contain. */

type Line = Record<string, unknown> & { msg: string }

const SECRETS = ['a-private-subject', 'a-private-text', 'a-private-html', 'YS1wcml2YXRlLWZpbGU']

let world: World
let appliance: TestAppliance
let receiver: Receiver
let written = ''
const ids: Record<'delivered' | 'deferred' | 'bounced' | 'batch' | 'smtp', string> = {
  delivered: '',
  deferred: '',
  bounced: '',
  batch: '',
  smtp: '',
}

const lines = (): Line[] =>
  written
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
const about = (id: string): Line[] => lines().filter(({ email_id: of }) => [of].flat().includes(id))
const outcome = (id: string): Line | undefined => about(id).find(({ msg }) => msg === 'delivery')

async function until(look: () => unknown): Promise<void> {
  const end = Date.now() + PATIENCE
  while (!look()) {
    if (Date.now() > end) throw new Error(`it was not written: ${written}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const letter = (to: string) => ({
  to,
  subject: SECRETS[0],
  text: SECRETS[1],
  html: `<p>${SECRETS[2]}</p>`,
  attachments: [{ filename: 'a.txt', content: SECRETS[3] }],
})

async function sendAll(): Promise<void> {
  const { apiKey, domain } = appliance
  ids.delivered = await appliance.send(letter('ada@busy.test'))
  ids.bounced = await appliance.send(letter('gone@busy.test'))
  ids.deferred = await appliance.send(letter('later@busy.test'))
  const { attachments: _none, ...item } = { ...letter('bob@busy.test'), from: `hello@${domain}` }
  const batch = await appliance.call<{ data: { id: string }[] }>('POST', '/emails/batch', [item])
  ids.batch = batch.body.data[0]!.id
  const [host, port] = appliance.appliance.smtp.starttls[0]!.split(':') as [string, string]
  const transport = nodemailer.createTransport({
    host,
    port: Number(port),
    tls: { rejectUnauthorized: false },
    auth: { user: 'posthaste', pass: apiKey },
  })
  const sent = await transport.sendMail({ ...letter('eve@busy.test'), from: `hello@${domain}` })
  ids.smtp = / ([0-9a-f-]{36})/.exec(sent.response)![1]!
  transport.close()
}

beforeAll(async () => {
  world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  const gone = on('rcpt', '550 5.1.1 no such user', { address: /gone/ })
  const later = on('rcpt', '451 4.7.1 later', { address: /later/ })
  world.exchanger('mx.busy.test').behave((step) => gone(step) ?? later(step))
  receiver = await startReceiver()
  receiver.behave(({ body }, response) => {
    response.statusCode = body.includes('email.bounced') ? 500 : 200
    response.end()
  })
  const log = createLogger('debug', { write: (text: string) => void (written += text) })
  appliance = await startAppliance({
    world,
    log,
    config: {
      webhooks: { allow_networks: ['127.0.0.0/8'], retention_days: 30 },
      smtp: { starttls: ['127.0.0.1:0'] } as never,
    },
  })
  const events = ['email.delivered', 'email.bounced']
  const { body } = await appliance.call<{ signing_secret: string }>('POST', '/webhooks', {
    endpoint: receiver.url,
    events,
  })
  SECRETS.push(appliance.apiKey, body.signing_secret, appliance.ownerPassword)
  await sendAll()
  await until(() => Object.values(ids).every((id) => outcome(id)))
  await until(() => about(ids.delivered).some(({ msg }) => msg === 'webhook delivery succeeded'))
  await until(() => about(ids.bounced).some(({ msg }) => msg === 'webhook attempt failed'))
})

afterAll(async () => {
  await appliance.close()
  await receiver.close()
  await world.close()
})

describe('the log of a run', () => {
  test('the log has one line for each attempted delivery, with the reply of the server', () => {
    const common = { level: 'info', domain: 'busy.test', host: 'mx.busy.test', attempt: 1 }
    expect(outcome(ids.delivered)).toMatchObject({
      ...common,
      email_id: ids.delivered,
      state: 'delivered',
      code: 250,
      ms: expect.any(Number) as number,
    })
    expect(outcome(ids.bounced)).toMatchObject({
      ...common,
      email_id: ids.bounced,
      state: 'bounced',
      phase: 'rcpt',
      code: 550,
      status: '5.1.1',
    })
    expect(outcome(ids.deferred)).toMatchObject({
      ...common,
      email_id: ids.deferred,
      state: 'waiting',
      phase: 'rcpt',
      code: 451,
      status: '4.7.1',
      next: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    })
    for (const id of Object.values(ids))
      expect(about(id).filter(({ msg }) => msg === 'delivery')).toHaveLength(1)
  })

  test('the log of an email begins with its source: request, batch or SMTP', () => {
    expect(about(ids.delivered)[0]).toMatchObject({ msg: 'request', path: '/emails', status: 200 })
    expect(about(ids.batch)[0]).toMatchObject({ msg: 'request', path: '/emails/batch', status: 200 })
    const accepted = about(ids.smtp)[0]!
    expect(accepted).toMatchObject({ msg: 'smtp message accepted', recipients: 1 })
    expect(accepted.session_id).toEqual(expect.any(String))
  })

  test('the log includes the email ID of webhook attempts', () => {
    expect(about(ids.delivered)).toContainEqual(
      expect.objectContaining({
        msg: 'webhook delivery succeeded',
        event: 'email.delivered',
        attempt: 1,
        status: 200,
      }),
    )
    expect(about(ids.bounced)).toContainEqual(
      expect.objectContaining({
        msg: 'webhook attempt failed',
        event: 'email.bounced',
        attempt: 1,
        status: 500,
      }),
    )
  })

  test('every log line that contains an email ID has the field email_id', async () => {
    await appliance.until(ids.delivered, isFinal)
    await appliance.call('GET', `/emails/${ids.delivered}`)
    await until(() => about(ids.delivered).some(({ path }) => path === `/emails/${ids.delivered}`))
    for (const line of lines())
      for (const id of Object.values(ids))
        if (JSON.stringify(line).includes(id)) expect([line.email_id].flat(), line.msg).toContain(id)
  })

  test('the log contains no key, secret, password, subject or content', () => {
    for (const secret of SECRETS) expect(written).not.toContain(secret)
  })
})
