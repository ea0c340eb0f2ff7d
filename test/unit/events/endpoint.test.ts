import { expect, test } from 'vitest'
import { findEndpointProblem } from '../../../appliance/events/endpoint.ts'
import { computeNextWebhookAttempt, WEBHOOK_RETRY_DELAYS } from '../../../appliance/mail/webhook.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'

const inside = parseNetworks(['10.0.0.0/8'])
const own = ['93.184.1.1', '2a00:1450::1']

test.each([
  ['https://app.example/hook?x=1', [], undefined],
  ['https://app.example:8443/', [], undefined],
  ['http://10.1.2.3/hook', inside, undefined],
  ['http://app.internal/hook', inside, undefined],
  ['nonsense', [], 'an https:// URL'],
  ['ftp://app.example/', [], 'an https:// URL'],
  ['http://app.example/', [], 'an https:// URL (http:// only for networks in webhooks.allow_networks)'],
  ['http://8.8.8.8/', inside, 'an https:// URL (http:// only for networks in webhooks.allow_networks)'],
  ['https://127.0.0.1/', inside, 'a URL on a host with a public address, or in webhooks.allow_networks'],
  ['https://localhost/', [], 'a URL on a host with a public address, or in webhooks.allow_networks'],
  ['https://[::ffff:10.0.0.1]/', [], 'a URL on a host with a public address, or in webhooks.allow_networks'],
  ['https://93.184.1.1/', inside, 'a URL on a host with a public address, or in webhooks.allow_networks'],
  ['https://93.184.1.1/', parseNetworks(['93.184.1.1']), undefined],
  ['https://93.184.1.2/', [], undefined],
  ['https://app.example:25/', [], 'a URL that must use port 80, 443 or one above 1023'],
  ['https://me:pw@app.example/', [], 'a URL that must not contain a user name or a password'],
  ['https://app.example/#x', [], 'a URL without a fragment (#…)'],
])('checks %s as a webhook endpoint', (url, networks, problem) => {
  expect(findEndpointProblem(url, networks, own)).toBe(problem)
})

test('a failed webhook delivery is retried seven times over 28 hours, with jitter', () => {
  const seconds = WEBHOOK_RETRY_DELAYS.map((_, at) => computeNextWebhookAttempt(at + 1, 0, 0)! / 1000)
  expect(seconds).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 36_000])
  expect(computeNextWebhookAttempt(1, 1000, 0.5)).toBe(6500)
  expect(computeNextWebhookAttempt(8, 0, 0)).toBeNull()
})
