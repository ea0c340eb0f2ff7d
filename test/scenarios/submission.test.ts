import { createTransport } from 'nodemailer'
import { expect, test } from 'vitest'
import { isFinal, startAppliance } from '../world/appliance.ts'
import { createWorld } from '../world/world.ts'

test('mail submitted over SMTP is delivered, and its session is in the request log', async () => {
  const world = await createWorld({
    domains: { 'customer.test': { mx: [{ preference: 10, host: 'mx.customer.test' }] } },
  })
  const listen = ['127.0.0.1:0']
  const appliance = await startAppliance({
    world,
    config: {
      smtp: {
        starttls: listen,
        implicit_tls: listen,
        trusted: [],
        proxy_protocol_from: [],
        hide_client: false,
        max_connections: 10,
        max_connections_per_address: 10,
        max_unknown_connections_per_address: 1000,
      },
    },
  })
  try {
    const port = Number(appliance.appliance.smtp.starttls[0]!.split(':')[1])
    const transport = createTransport({
      host: '127.0.0.1',
      port,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'posthaste', pass: appliance.apiKey },
    })
    const mail = { from: 'App <hello@sender.test>', to: 'ada@customer.test', subject: 'Hello', text: 'Hi' }
    const { response } = await transport.sendMail(mail)
    transport.close()
    const id = /Queued as (.+)$/.exec(response)![1]!
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['delivered'])
    expect(world.mailboxOf('mx.customer.test').map(({ raw }) => raw.includes(`id ${id};`))).toEqual([true])
    type Logs = { data: Record<string, unknown>[] }
    const logs = await appliance.call<Logs>('GET', '/logs')
    expect(logs.body.data).toContainEqual(
      expect.objectContaining({
        method: 'SMTP',
        endpoint: `smtp://${port} MAIL`,
        response_status: 250,
        envelope: { mail_from: 'hello@sender.test', rcpt_to: ['ada@customer.test'], recipients: 1 },
      }),
    )
  } finally {
    await appliance.close()
    await world.close()
  }
})
