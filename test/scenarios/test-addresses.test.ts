import { createTransport } from 'nodemailer'
import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startReceiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'

/** Uses the official client to send to the test addresses, on an appliance in production mode. */

let world: World
let appliance: TestAppliance
let client: Resend

beforeAll(async () => {
  world = await createWorld({ domains: {} })
  const smtp = {
    starttls: ['127.0.0.1:0'],
    implicit_tls: [],
    trusted: [],
    proxy_protocol_from: [],
    hide_client: false,
    max_connections: 10,
    max_connections_per_address: 10,
    max_unknown_connections_per_address: 1000,
  }
  const webhooks = { allow_networks: ['127.0.0.0/8'], retention_days: 30 }
  appliance = await startAppliance({ world, config: { smtp, webhooks } })
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
})

afterAll(async () => {
  await appliance.close()
  await world.close()
})

const send = async (to: string | string[]): Promise<string> => {
  const { data, error } = await client.emails.send({
    from: `hello@${appliance.domain}`,
    to,
    subject: 'Test',
    text: 'Test',
  })
  expect(error).toBeNull()
  return data!.id
}

/** Returns what happened to an email: its last event, its events, and each delivery's final reply. */
const story = async (id: string) => {
  const { deliveries, events } = await appliance.until(id, isFinal)
  return {
    last: (await client.emails.get(id)).data!.last_event,
    events: events.map(({ type }) => type),
    replies: deliveries.map(({ cause }) => cause?.reply?.code ?? null),
  }
}

const STORIES = {
  delivered: { last: 'delivered', events: ['email.sent', 'email.delivered'], replies: [250] },
  bounced: { last: 'bounced', events: ['email.sent', 'email.bounced'], replies: [550] },
  complained: {
    last: 'complained',
    events: ['email.sent', 'email.delivered', 'email.complained'],
    replies: [250],
  },
  suppressed: { last: 'suppressed', events: ['email.suppressed'], replies: [null] },
} as const

describe('a test address', () => {
  test.each(Object.entries(STORIES))(
    'mail to %s@resend.dev has the same result each time',
    async (name, expected) => {
      for (const address of [`${name}@resend.dev`, `${name}+a.b-1@resend.dev`, `${name}@resend.dev`])
        expect(await story(await send(address))).toEqual(expected)
    },
  )

  test('mail to a test address under test.posthaste.invalid has the same result', async () => {
    expect(await story(await send('Bounced@test.posthaste.invalid'))).toEqual(STORIES.bounced)
  })

  test('mail to an unknown test address bounces, and the reason lists the available addresses', async () => {
    const { deliveries } = await appliance.until(await send('nobody@resend.dev'), isFinal)
    expect(deliveries.map(({ state, cause }) => [state, cause?.note])).toEqual([
      ['bounced', 'Unknown test address. Available: delivered@, bounced@, complained@, suppressed@.'],
    ])
  })

  test('each of several test addresses in one email has its own outcome', async () => {
    const to = ['delivered@resend.dev', 'bounced@resend.dev', 'suppressed@resend.dev']
    const { deliveries } = await appliance.until(await send(to), isFinal)
    expect(deliveries.map(({ recipient, state }) => [recipient, state])).toEqual([
      ['delivered@resend.dev', 'delivered'],
      ['bounced@resend.dev', 'bounced'],
      ['suppressed@resend.dev', 'suppressed'],
    ])
  })

  test('test addresses work over SMTP', async () => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: Number(appliance.appliance.smtp.starttls[0]!.split(':')[1]),
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'posthaste', pass: appliance.apiKey },
    })
    const to = Object.keys(STORIES).map((name) => `${name}+smtp@resend.dev`)
    const { response } = await transport.sendMail({
      from: `hello@${appliance.domain}`,
      to,
      subject: 'Test',
      text: 'Test',
    })
    transport.close()
    const { deliveries } = await appliance.until(/Queued as (.+)$/.exec(response)![1]!, isFinal)
    expect(deliveries.map(({ state }) => state)).toEqual(['delivered', 'bounced', 'delivered', 'suppressed'])
  })

  test('mail to test addresses sends webhook events', async () => {
    const receiver = await startReceiver()
    const events = ['email.delivered', 'email.bounced', 'email.complained', 'email.suppressed'] as const
    const made = await client.webhooks.create({ endpoint: receiver.url, events: [...events] })
    expect(made.error).toBeNull()
    const to = Object.keys(STORIES).map((name) => `${name}+hook@resend.dev`)
    const id = await send(to)
    const received = await receiver.waitFor(5)
    await client.webhooks.remove(made.data!.id)
    await receiver.close()
    const told = received.map(({ body }) => JSON.parse(body) as { type: string; data: { to: string[] } })
    expect(told.map(({ type, data }) => `${type} ${data.to.join()}`).toSorted()).toEqual([
      'email.bounced bounced+hook@resend.dev',
      'email.complained complained+hook@resend.dev',
      'email.delivered complained+hook@resend.dev',
      'email.delivered delivered+hook@resend.dev',
      'email.suppressed suppressed+hook@resend.dev',
    ])
    const dataOf = (type: string) => told.find((one) => one.type === type)!.data
    expect(dataOf('email.bounced')).toMatchObject({
      email_id: id,
      bounce: {
        type: 'Permanent',
        subType: 'NoEmail',
        diagnosticCode: ['smtp; 550 5.1.1 User unknown (test address)'],
      },
    })
    expect(Object.keys(dataOf('email.complained'))).toEqual([
      'email_id',
      'message_id',
      'created_at',
      'from',
      'to',
      'subject',
    ])
    expect(dataOf('email.suppressed')).toMatchObject({
      suppressed: { type: 'Suppressed', reason: 'previous_bounce', diagnosticCode: [] },
    })
  })

  test('mail to test addresses adds no suppression and causes no DNS lookup', async () => {
    const { data } = await client.suppressions.list()
    expect(data!.data).toEqual([])
    expect(world.dns.queries.filter(({ name }) => /resend\.dev|invalid/.test(name))).toEqual([])
  })
})
