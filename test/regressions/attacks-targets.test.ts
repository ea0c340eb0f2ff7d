import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseNetworks, listMachineAddresses, createAddressCache } from '../../appliance/wire/networks.ts'
import { hello, startApi, type Api } from '../unit/http/harness.ts'

/** Represents the public internet. */
const PUBLIC = '127.0.0.77'
/** Public addresses that this machine is configured to have. */
const OWN = ['93.184.1.1', '2a00:1450::1']
const NAMES: Record<string, string[]> = {
  'files.example': [PUBLIC],
  'own.example': ['93.184.1.1', '2a00:1450::1'],
  'mapped.example': ['::ffff:93.184.1.1'],
}

let api: Api
let files: string
const server = createServer(({ url }, response) => {
  response.writeHead(302, { location: `${decodeURIComponent(url!.slice(1))}/metrics` }).end()
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, PUBLIC, resolve))
  files = `http://files.example:${(server.address() as AddressInfo).port}`
  const lookup = async (name: string) => NAMES[name] ?? []
  const fetch = { lookup, allowNetworks: parseNetworks([PUBLIC]) }
  api = await startApi({ fetch, ownAddresses: () => OWN })
})
afterAll(async () => {
  await api.close()
  server.close()
})

const urls = [
  'https://93.184.1.1',
  'https://[2a00:1450:0::1]',
  'https://[::ffff:93.184.1.1]',
  'https://own.example',
  'https://mapped.example',
]

describe("finding 7: this machine's own public addresses", () => {
  const refused = /must be on a host with a public address/

  test.each(urls)('finding 7: rejects an attachment from %s', async (url) => {
    const answer = await api.call('POST', '/emails', { ...hello, attachments: [{ path: `${url}/metrics` }] })
    expect([answer.status, answer.text]).toEqual([422, expect.stringMatching(refused)])
  })

  test.each(urls)('finding 7: rejects an attachment that redirects to %s', async (url) => {
    const path = `${files}/${encodeURIComponent(url)}`
    const answer = await api.call('POST', '/emails', { ...hello, attachments: [{ path }] })
    expect([answer.status, answer.text]).toEqual([422, expect.stringMatching(refused)])
  })

  test.each(urls.slice(0, 3))('finding 7: rejects a webhook with the endpoint %s', async (url) => {
    const answer = await api.call('POST', '/webhooks', { endpoint: url, events: ['email.sent'] })
    expect(answer.status).toBe(422)
    expect(answer.text).toMatch(/a URL on a host with a public address, or in webhooks\.allow_networks/)
  })

  test.each(urls.slice(3))('finding 7: rejects a webhook ping to %s', async (url) => {
    const made = await api.call('POST', '/webhooks', { endpoint: url, events: ['email.sent'] })
    const { id } = made.json as { id: string }
    const pinged = await api.call('POST', `/webhooks/${id}/ping`)
    expect(pinged.text).toMatch(
      /The endpoint must be on a host with a public address, or in webhooks\.allow_networks\./,
    )
  })
})

test('finding 7: addresses added to an interface later are recognized within ten seconds', () => {
  let now = 0
  const lists = [['93.184.1.1'], ['93.184.1.2']]
  const own = createAddressCache({ now: () => now }, () => lists.shift()!)
  expect(own()).toEqual(['93.184.1.1'])
  now = 9_999
  expect(own()).toEqual(['93.184.1.1'])
  now = 10_000
  expect(own()).toEqual(['93.184.1.2'])
})

test("finding 7: the machine's addresses are those of all interfaces except loopback", () => {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  expect(listMachineAddresses()).toHaveLength(all.filter(({ internal }) => !internal).length)
})
