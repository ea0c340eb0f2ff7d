import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../appliance/watch/log.ts'
import { isFinal, publishAndVerify, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests events about domains and the suppression list. */

interface Told {
  type: string
  data: Record<string, unknown>
}

let world: World
let appliance: TestAppliance
let receiver: Receiver
let written = ''

beforeAll(async () => {
  world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  world.exchanger('mx.busy.test').behave(on('rcpt', '550 5.1.1 no such user', { address: /gone/ }))
  const webhooks = { allow_networks: ['127.0.0.0/8'], retention_days: 30 }
  const log = createLogger('info', { write: (line: string) => void (written += line) })
  appliance = await startAppliance({ world, config: { webhooks }, log })
  receiver = await startReceiver()
  const events = [
    'domain.created',
    'domain.updated',
    'domain.deleted',
    'suppression.added',
    'suppression.removed',
  ]
  await appliance.call('POST', '/webhooks', { endpoint: receiver.url, events })
})
afterAll(async () => {
  await appliance.close()
  await receiver.close()
  await world.close()
})

const told = (): Told[] => receiver.received.map(({ body }) => JSON.parse(body) as Told)
const tellsOf = (type: string) => told().filter((one) => one.type === type)

test('sends events when a domain is created, verified, updated and deleted', async () => {
  const { body } = await appliance.call<{ id: string }>('POST', '/domains', { name: 'shop.test' })
  await expect.poll(() => tellsOf('domain.created')).toHaveLength(1)
  const [created] = tellsOf('domain.created')
  expect(created!.data).toMatchObject({
    id: body.id,
    name: 'shop.test',
    status: 'not_started',
    region: 'us-east-1',
    capabilities: { sending: 'enabled', receiving: 'disabled' },
  })
  expect(created!.data.records).toContainEqual({
    record: 'SPF',
    name: 'send',
    type: 'MX',
    value: 'mail.sender.test',
    ttl: 'Auto',
    priority: 10,
    status: 'not_started',
  })
  expect(JSON.stringify(created!.data.records)).not.toContain('DMARC')

  await publishAndVerify(appliance.appliance, world, appliance.teamId, 'shop.test')
  await expect.poll(() => tellsOf('domain.updated').map(({ data }) => data.status)).toEqual(['verified'])
  await appliance.call('PATCH', `/domains/${body.id}`, { capabilities: { receiving: 'enabled' } })
  await expect.poll(() => tellsOf('domain.updated')).toHaveLength(2)
  expect(tellsOf('domain.updated')[1]!.data.capabilities).toEqual({
    sending: 'enabled',
    receiving: 'enabled',
  })

  await appliance.call('DELETE', `/domains/${body.id}`)
  await expect.poll(() => tellsOf('domain.deleted')).toHaveLength(1)
  expect(tellsOf('domain.deleted')[0]!.data).toMatchObject({ id: body.id, status: 'verified' })
})

test('sends events for manual suppressions, bounces and removals, but not for imports', async () => {
  const id = await appliance.send({ to: 'gone@busy.test' })
  await appliance.until(id, isFinal)
  await expect.poll(() => tellsOf('suppression.added')).toHaveLength(1)
  expect(tellsOf('suppression.added')[0]!.data).toMatchObject({
    email: 'gone@busy.test',
    origin: 'bounce',
    source_id: id,
  })
  await appliance.call('POST', '/suppressions', { email: 'ada@busy.test' })
  await appliance.call('POST', '/suppressions', { email: 'ada@busy.test' })
  await expect.poll(() => tellsOf('suppression.added')).toHaveLength(2)
  expect(Object.keys(tellsOf('suppression.added')[1]!.data)).toEqual([
    'id',
    'email',
    'origin',
    'source_id',
    'created_at',
  ])
  await appliance.call('POST', '/suppressions/import', { csv: 'email\nlisted@busy.test\n' })
  await appliance.call('DELETE', '/suppressions/ada@busy.test')
  await expect.poll(() => tellsOf('suppression.removed')).toHaveLength(1)
  expect(tellsOf('suppression.removed')[0]!.data).toMatchObject({ email: 'ada@busy.test', origin: 'manual' })
  expect(tellsOf('suppression.added')).toHaveLength(2)
})

test('logs a suppressed delivery without the address', async () => {
  const id = await appliance.send({ to: ['gone@busy.test'] })
  const lines = () =>
    written
      .split('\n')
      .filter((line) => line.includes(id))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  await expect
    .poll(() => lines().find(({ msg }) => msg === 'delivery'))
    .toMatchObject({
      email_id: id,
      team_id: appliance.teamId,
      domain: 'busy.test',
      state: 'suppressed',
    })
  expect(JSON.stringify(lines())).not.toContain('gone@')
})
