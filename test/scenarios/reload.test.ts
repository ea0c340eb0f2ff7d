import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

let world: World
let appliance: TestAppliance

afterEach(async () => {
  await appliance.close()
  await world.close()
})

const DEFAULTS = `[default]
messages_per_connection = 100
messages_per_minute = 6000
recipients_per_message = 50
idle_seconds = 10
warm_up = [50, 100]
`
const PROVIDER = `${DEFAULTS}
[strict]
name = "Strict Mail"
mx = ["strict.test"]
connections = 3
messages_per_connection = 7
messages_per_minute = 60
recipients_per_message = 1
`
const RULE = `[[rule]]
topic = "full-moon"
category = "mailbox-full"
action = "bounce"
says = "takes nothing at full moon"
text = ['full moon']
`

test('reloads providers and bounce rules while the daemon runs, but keeps them if a file is invalid', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-reload-'))
  const [providers, bounces] = [join(folder, 'providers.toml'), join(folder, 'bounces.toml')]
  writeFileSync(providers, DEFAULTS)
  writeFileSync(bounces, '')
  const exchanger = { behave: on('message', '550 not at full moon') }
  world = await createWorld({
    domains: { 'mail.strict.test': { mx: [{ preference: 10, host: 'mx.strict.test', exchanger }] } },
  })
  const delivery = { providers, bounces } as Config['delivery']
  appliance = await startAppliance({ world, config: { delivery } })
  const causeOf = async () => {
    const id = await appliance.send({ to: 'a@mail.strict.test' })
    const { deliveries } = await appliance.until(id, isFinal)
    return deliveries[0]?.cause
  }
  const providerOf = async () => (await appliance.call('GET', '/providers/strict')).body
  expect(await causeOf()).not.toMatchObject({ note: expect.stringContaining('full moon takes') as string })
  expect(await providerOf()).toMatchObject({ statusCode: 404, message: 'Provider strict not found' })

  writeFileSync(providers, PROVIDER)
  writeFileSync(bounces, RULE)
  expect(await appliance.appliance.reload()).toEqual([])
  expect(await causeOf()).toMatchObject({
    category: 'mailbox-full',
    note: 'mx.strict.test takes nothing at full moon.',
  })
  expect(await providerOf()).toMatchObject({ name: 'Strict Mail', mx: ['strict.test'] })
  const lanesOf = async () =>
    (await appliance.call<{ data: { provider: string }[] }>('GET', '/lanes')).body.data
  await expect
    .poll(async () => {
      // Lane states are saved a second later.
      await world.clock.advance(2000)
      return (await lanesOf()).map(({ provider }) => provider)
    })
    .toContain('strict')

  writeFileSync(bounces, '[[rule]]\ntopic = 5\n')
  const refused = await appliance.appliance.reload()
  expect(refused.map(({ message }) => message)).toEqual([expect.stringContaining(bounces)])
  expect(await causeOf()).toMatchObject({ category: 'mailbox-full' })
})
