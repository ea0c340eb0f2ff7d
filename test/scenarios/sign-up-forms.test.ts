import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests a sign-up through a form: the confirmation email arrives, and its link subscribes the person. */

const HOST = 'mx.reader.test'
const PUBLIC = 'https://mail.sender.test'
const SITE = 'https://www.sender.test'

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  const exchanger = { behave: on('rcpt', '550 5.1.1 No such user here') }
  world = await createWorld({
    domains: {
      'reader.test': { mx: [{ preference: 10, host: HOST }] },
      'gone.test': { mx: [{ preference: 10, host: 'mx.gone.test', exchanger }] },
    },
  })
  const http = { listen: ['127.0.0.1:0'], public_url: PUBLIC } as Config['http']
  appliance = await startAppliance({ world, config: { http } })
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

const arrived = () => world.mailboxOf(HOST).filter(({ envelope }) => envelope.to[0] === 'ada@reader.test')
const contact = (email: string) => appliance.call<Record<string, unknown>>('GET', `/contacts/${email}`)

test('a visitor signs up on a site, gets one email, and is subscribed after confirming', async () => {
  const from = `News <news@${appliance.domain}>`
  const about = {
    name: 'Site',
    from,
    allowed_origins: [SITE],
    fields: [{ name: 'first_name', required: true }],
  }
  const { body: form } = await appliance.call<{ id: string; url: string }>('POST', '/forms', about)
  expect(form.url).toBe(`${PUBLIC}/f/${form.id}`)
  const submit = (email: string) =>
    fetch(`${appliance.url}/f/${form.id}`, {
      method: 'POST',
      headers: { origin: SITE },
      body: new URLSearchParams({ email, first_name: 'http://spam.test' }),
    })
  for (const email of ['ada@reader.test', 'Ada@reader.test', 'nobody@gone.test']) {
    const answer = await submit(email)
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Check your mailbox')])
  }
  await vi.waitFor(() => expect(arrived()).toHaveLength(1), { timeout: 30_000, interval: 50 })
  const { raw, envelope } = arrived()[0]!
  expect(envelope.to).toEqual(['ada@reader.test'])
  const message = raw.toString().replaceAll('=\r\n', '')
  expect(message).toContain('Subject: Confirm your subscription to ')
  expect(message).toMatch(/^DKIM-Signature: /m)
  expect(message).not.toContain('spam.test')
  const [, path = ''] = /https:\/\/mail\.sender\.test(\/f\/confirm\/[\w-]+)/.exec(message)!
  expect((await fetch(appliance.url + path)).status).toBe(200)
  expect((await contact('ada@reader.test')).status).toBe(404)
  const done = await fetch(appliance.url + path, { method: 'POST' })
  expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('You’re subscribed')])
  expect((await contact('ada@reader.test')).body).toMatchObject({ unsubscribed: false })
  expect((await contact('nobody@gone.test')).status).toBe(404)
  const counted = await appliance.call('GET', `/forms/${form.id}`)
  expect(counted.body).toMatchObject({ submitted: 3, confirmed: 1 })
})
