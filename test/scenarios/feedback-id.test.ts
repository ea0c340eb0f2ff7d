import { createHash } from 'node:crypto'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

const HOST = 'mx.customer.test'

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  world = await createWorld({ domains: { 'customer.test': { mx: [{ preference: 10, host: HOST }] } } })
  appliance = await startAppliance({ world, config: { smtp: smtp() } })
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

function smtp(): Config['smtp'] {
  const listen = { starttls: ['127.0.0.1:0'], implicit_tls: [], trusted: [], proxy_protocol_from: [] }
  const limits = { max_connections: 10, max_connections_per_address: 10 }
  return { ...listen, ...limits, max_unknown_connections_per_address: 10, hide_client: false }
}

const team = () => createHash('sha256').update(appliance.teamId).digest('hex').slice(0, 10)

/** Returns the email's header as it arrived, unfolded. */
async function arrived(id: string): Promise<string> {
  const timeline = await appliance.until(id, isFinal)
  expect(timeline.deliveries.map(({ state }) => state)).toEqual(['delivered'])
  const raw = world.mailboxOf(HOST).at(-1)!.raw.toString()
  return raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]+/g, ' ')
}

const feedbackIds = (header: string): string[] =>
  [...header.matchAll(/^Feedback-ID: (.*)$/gim)].map((match) => match[1]!)

/** Gmail uses only signed ones. */
const isSigned = (header: string): boolean =>
  [...header.matchAll(/^DKIM-Signature: .*\bh=([^;]*);/gm)].every((match) =>
    match[1]!.replaceAll(' ', '').split(':').includes('feedback-id'),
  )

const send = (more: object) => appliance.send({ to: 'ada@customer.test', ...more })

async function submit(headers: Record<string, string>): Promise<string> {
  const port = Number(appliance.appliance.smtp.starttls[0]!.split(':')[1])
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'posthaste', pass: appliance.apiKey },
  })
  const mail = { from: 'App <hello@sender.test>', to: 'ada@customer.test', subject: 'Hello', text: 'Hi' }
  const { response } = await transport.sendMail({ ...mail, headers })
  transport.close()
  return /Queued as (.+)$/.exec(response)![1]!
}

describe('Feedback-ID', () => {
  test('Feedback-ID is in every email, signed, and contains no secret', async () => {
    const rest = await arrived(await send({ tags: [{ name: 'user', value: 'ada' }] }))
    expect(feedbackIds(rest)).toEqual([`api:${team()}:transactional:posthaste`])
    expect(isSigned(rest)).toBe(true)
    const attachments = [{ filename: 'a.txt', content: 'QQ==' }]
    const broadcast = { attachments, headers: { 'List-Id': '<news.sender.test>' } }
    const news = await arrived(await send(broadcast))
    expect(feedbackIds(news)).toEqual([`api:${team()}:broadcast:posthaste`])
    expect(isSigned(news)).toBe(true)
    const submitted = await arrived(await submit({}))
    expect(feedbackIds(submitted)).toEqual([`smtp:${team()}:transactional:posthaste`])
    expect(isSigned(submitted)).toBe(true)
  })

  test('a Feedback-ID set by the app takes precedence', async () => {
    const own = { 'feedback-id': 'spring:7:news:acme1' }
    const id = await send({ headers: own })
    expect(feedbackIds(await arrived(id))).toEqual(['spring:7:news:acme1'])
    expect(feedbackIds(await arrived(await submit(own)))).toEqual(['spring:7:news:acme1'])
  })

  test('Feedback-ID is absent with delivery.feedback_id = false', async () => {
    const delivery = { feedback_id: false } as Config['delivery']
    const without = await startAppliance({ world, config: { delivery } })
    try {
      const id = await without.send({ to: 'ada@customer.test' })
      await without.until(id, isFinal)
      expect(world.mailboxOf(HOST).at(-1)!.raw.toString()).not.toMatch(/^feedback-id:/im)
    } finally {
      await without.close()
    }
  })
})
