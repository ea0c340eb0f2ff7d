import { afterEach, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

let world: World
let appliance: TestAppliance

afterEach(async () => {
  await appliance.close()
  await world.close()
})

const [spare, first, second] = ['127.0.0.7', '127.0.0.8', '127.0.0.9'] as const

/** Returns the source of each arrival, in order. */
const sources = (): string[] =>
  [...world.mailboxOf('mx.one.test')].map(({ session }) => session.clientAddress)

async function ask(method: string, path: string, body?: object): Promise<void> {
  const { status } = await appliance.call(method, path, body)
  expect([method, path, status]).toEqual([method, path, method === 'POST' ? 201 : 200])
}

/** Pool `news` has two sources, which are suspended one after the other. `default` has a third. */
test('a suspended source finishes mail in flight and gets no more; its pool, or the default pool, takes over', async () => {
  const suspended = Promise.withResolvers<undefined>()
  const exchanger = { behave: on('message', { until: suspended.promise }, { times: 1 }) }
  world = await createWorld({
    domains: { 'one.test': { mx: [{ preference: 10, host: 'mx.one.test', exchanger }] } },
  })
  const delivery = { allow_networks: ['127.0.0.0/8'], port: world.deliveryPort, source_ips: [spare] }
  appliance = await startAppliance({ world, config: { delivery: delivery as never } })
  for (const ip of [first, second]) await ask('POST', '/sources', { ip, pool: 'news' })
  await ask('POST', '/sources/assignments', { stream: 'transactional', pool: 'news' })
  await ask('PATCH', `/sources/${second}`, { state: 'suspended' })

  const inFlight = await appliance.send({ to: 'a@one.test' })
  const begun = () => world.exchanger('mx.one.test').steps.some(({ command }) => command === 'message')
  while (!begun()) await new Promise((resolve) => setTimeout(resolve, 10))
  await ask('PATCH', `/sources/${second}`, { state: 'active' })
  await ask('PATCH', `/sources/${first}`, { state: 'suspended' })
  for (const name of ['b', 'c'])
    await appliance.until(await appliance.send({ to: `${name}@one.test` }), isFinal)
  expect(sources()).toEqual([second, second])

  suspended.resolve(undefined)
  const { deliveries } = await appliance.until(inFlight, isFinal)
  expect(deliveries).toMatchObject([{ state: 'delivered', attempts: 1, pool: 'news' }])
  expect(sources()).toEqual([second, second, first])

  await ask('PATCH', `/sources/${second}`, { state: 'suspended' })
  await appliance.until(await appliance.send({ to: 'd@one.test' }), isFinal)
  expect(sources().at(-1)).toBe(spare)
})
