import { Resend } from 'resend'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance } from '../world/appliance.ts'
import { accountPart } from './account.part.ts'
import { automationsPart } from './automations.part.ts'
import { audiencePart } from './audience.part.ts'
import { CALLED, compatibilityPage, reasonFor, type Probe } from './compatibility.ts'
import { emailsPart } from './emails.part.ts'
import { importsPart } from './imports.part.ts'
import { metricsPart } from './metrics.part.ts'
import { record, type Recorder } from './recorder.ts'
import { receivingPart } from './receiving.part.ts'
import { sendersPart } from './senders.part.ts'
import type { Suite } from './suite.ts'
import { broadcastsPart } from './broadcasts.part.ts'
import { templatesPart } from './templates.part.ts'
import { OPERATIONS, staleDeviations } from './upstream.ts'
import { webhooksPart } from './webhooks.part.ts'

let suite: Suite
let recorder: Recorder

beforeAll(async () => {
  const appliance = await startAppliance({ config: { limits: { rate_per_second: 100_000 } as never } })
  const client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
  suite = { appliance, client, from: `Acme <hello@${appliance.domain}>` }
  recorder = record()
})

/** Besides each test's own checks, every response must have the right shape. */
afterEach(() => expect(recorder.takeFaults()).toEqual([]))

afterAll(async () => {
  recorder?.stop()
  await suite?.appliance.close()
})

describe('emails', () => emailsPart(() => suite))
describe('receiving', () => receivingPart(() => suite))
describe('senders', () => sendersPart(() => suite))
describe('webhooks', () => webhooksPart(() => suite))
describe('metrics', () => metricsPart(() => suite))
describe('audience', () => audiencePart(() => suite))
describe('broadcasts', () => broadcastsPart(() => suite))
describe('automations', () => automationsPart(() => suite))
describe('templates', () => templatesPart(() => suite))
describe('imports', () => importsPart(() => suite))
describe('account', () => accountPart(() => suite))

describe('coverage of the suite', () => {
  test('every listed deviation refers to an upstream operation and status code', () => {
    expect(staleDeviations()).toEqual([])
  })

  test('every operation was called or has a reason for being left out', () => {
    const open = OPERATIONS.filter(({ key, path }) => !recorder.done.has(key) && !reasonFor(path))
    expect(open.map(({ key }) => key)).toEqual([])
  })

  test('docs/api-compatibility.md matches the results of this suite', async () => {
    const probes = new Map<string, Probe>()
    for (const key of [...OPERATIONS.map((operation) => operation.key), ...CALLED]) {
      if (recorder.done.has(key)) continue
      const [method = '', path = ''] = key.split(' ')
      probes.set(key, await probe(method, path))
      // The response must not claim that something happened.
      expect(probes.get(key), key).toEqual({ status: 404, name: 'not_found' })
    }
    await expect(compatibilityPage(recorder.done, probes)).toMatchFileSnapshot(
      '../../docs/api-compatibility.md',
    )
  })
})

/** Calls an operation that isn't implemented, like a client that doesn't know. */
async function probe(method: string, path: string): Promise<Probe> {
  const way = path.replaceAll(/\{\w+\}/g, '0199c0de-0000-7000-8000-000000000000')
  const { status, body } = await suite.appliance.call<{ name: string }>(
    method,
    way,
    method === 'GET' ? undefined : {},
  )
  return { status, name: body.name }
}
