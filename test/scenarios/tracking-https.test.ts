import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { afterEach, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { createSelfSignedPair } from '../../appliance/wire/self-signed.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests that links of a domain with its own tracking name lead to a working HTTPS server. */

const closing: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close()
})

/** Starts an appliance with a public https URL, with a domain whose tracking record is published. */
async function start(more: Partial<Config>, tls_listen: string[]): Promise<() => Promise<string>> {
  const world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  closing.push(world)
  const http = { listen: ['127.0.0.1:0'], tls_listen, public_url: 'https://mail.sender.test' }
  const appliance = await startAppliance({ world, config: { ...more, http: http as Config['http'] } })
  closing.push(appliance)
  const { body } = await appliance.call<{ data: { id: string }[] }>('GET', '/domains')
  const { id } = body.data[0]!
  await appliance.call('PATCH', `/domains/${id}`, { click_tracking: true, tracking_subdomain: 'links' })
  world.dns.set('links.sender.test', { CNAME: 'mail.sender.test' })
  await appliance.appliance.senders.verifyDomain({ teamId: appliance.teamId, id })
  return () => linkOf(world, appliance)
}

async function linkOf(world: World, appliance: TestAppliance): Promise<string> {
  const html = '<a href="https://shop.test/a">A</a>'
  const id = await appliance.send({ to: 'ada@busy.test', html, text: undefined })
  await appliance.until(id, isFinal)
  const { html: arrived } = await PostalMime.parse(world.mailboxOf('mx.busy.test').at(-1)!.raw)
  return new URL(/href="([^"]+)"/.exec(arrived!)![1]!).origin
}

test('tracking links use the server’s hostname while the tracking host has no certificate', async () => {
  const link = await start({}, ['127.0.0.1:0'])
  expect(await link()).toBe('https://mail.sender.test')
})

test('tracking links use the tracking host when it has a certificate', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-links-'))
  const pair = await createSelfSignedPair(['links.sender.test'], Date.now())
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  await writeFile(files.cert, pair.cert)
  await writeFile(files.key, pair.key)
  const link = await start({ tls: { additional: [files] } }, ['127.0.0.1:0'])
  expect(await link()).toBe('https://links.sender.test')
})

test('tracking links use the tracking host behind a proxy, whose certificates are unknown', async () => {
  const link = await start({}, [])
  expect(await link()).toBe('https://links.sender.test')
})
