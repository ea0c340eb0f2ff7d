import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests a broadcast that links to its page in the public archive: its email arrives, and the page shows nothing of a recipient. */

const HOST = 'mx.reader.test'
const PUBLIC = 'https://mail.sender.test'

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  world = await createWorld({ domains: { 'reader.test': { mx: [{ preference: 10, host: HOST }] } } })
  const http = { listen: ['127.0.0.1:0'], public_url: PUBLIC } as Config['http']
  appliance = await startAppliance({ world, config: { http } })
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

const create = async (path: string, body: unknown): Promise<string> =>
  (await appliance.call<{ id: string }>('POST', path, body)).body.id
const visit = async (url: string) => {
  const response = await fetch(url.replace(PUBLIC, appliance.url), { redirect: 'manual' })
  return { status: response.status, text: await response.text(), to: response.headers.get('location') }
}

test('a reader follows the tracked link in the email to the page, which is tracked no further', async () => {
  const { body: domains } = await appliance.call<{ data: { id: string }[] }>('GET', '/domains')
  const tracked = { open_tracking: true, click_tracking: true }
  await appliance.call('PATCH', `/domains/${domains.data[0]!.id}`, tracked)
  await appliance.call('PATCH', '/archive', { status: 'enabled', slug: 'sender' })
  const segment = await create('/segments', { name: 'Readers' })
  await create('/contacts', { email: 'ada@reader.test', first_name: 'Ada', segments: [segment] })
  const id = await create('/broadcasts', {
    segment_id: segment,
    from: `News <news@${appliance.domain}>`,
    subject: 'For {{{FIRST_NAME|you}}}',
    html: '<a href="{{{POSTHASTE_ARCHIVE_URL}}}">Online</a> <a href="https://sender.test/x">Shop</a> {{{FIRST_NAME|reader}}} <a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    archive: true,
    send: true,
  })
  const page = `${PUBLIC}/a/sender/${id}`
  await vi.waitFor(() => expect(world.mailboxOf(HOST)).toHaveLength(1), { timeout: 30_000, interval: 50 })
  const message = world.mailboxOf(HOST)[0]!.raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
  expect(message).toContain('Ada')
  const [, link = ''] = /<a href="([^"]+)">Online/.exec(message)!
  // The link is the same for all recipients, so its token has a number instead of the address.
  expect(link).toMatch(/^https:\/\/mail\.sender\.test\/l\/[\w-]+\/\d+$/)
  expect(await visit(link)).toMatchObject({ status: 302, to: page })
  await vi.waitFor(
    async () =>
      expect(await appliance.call('GET', `/broadcasts/${id}`)).toMatchObject({ body: { status: 'sent' } }),
    { timeout: 30_000, interval: 50 },
  )
  expect(await appliance.call('GET', `/broadcasts/${id}`)).toMatchObject({ body: { archive_url: page } })
  const { status, text } = await visit(`${page}/content`)
  expect(status).toBe(200)
  expect(text).toContain(
    `<a href="${page}">Online</a> <a href="https://sender.test/x">Shop</a> reader <a>Unsubscribe</a>`,
  )
  expect(text).not.toMatch(/Ada|\/[lou]\/|<img/)
  expect((await visit(`${PUBLIC}/a/sender`)).text).toContain('For you')
  expect((await visit(`${PUBLIC}/a/sender/feed.xml`)).text).toContain(`href="${page}"`)
})
