import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { posthaste } from '../unit/commands/program.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { writeConfig } from '../world/daemon.ts'
import { createWorld, type World } from '../world/world.ts'

let world: World
let appliance: TestAppliance

afterEach(async () => {
  await appliance.close()
  await world.close()
})

const advice = 'Look up the domains of all links in the message, and replace or remove the listed one.'

test('a bounce shows its category and advice in the timeline and on the command line', async () => {
  const reply = '554 5.7.1 Message refused: a link is listed by SURBL'
  const exchanger = { behave: on('message', reply) }
  world = await createWorld({
    domains: { 'strict.test': { mx: [{ preference: 10, host: 'mx.strict.test', exchanger }] } },
  })
  appliance = await startAppliance({ world })
  const id = await appliance.send({ to: 'a@strict.test' })
  const { deliveries } = await appliance.until(id, isFinal)
  const note = 'mx.strict.test refuses the message because it links to a domain on a blocklist.'
  expect(deliveries).toMatchObject([
    { state: 'bounced', waiting: null, cause: { category: 'content', note, advice: { text: advice } } },
  ])

  const config = join(mkdtempSync(join(tmpdir(), 'posthaste-advice-')), 'posthaste.toml')
  const { data_dir: dataDir } = appliance.config
  await writeConfig(config, { hostname: 'mail.sender.test', data_dir: dataDir })
  const { code, stdout } = await posthaste(['queue', 'show', id, '--config', config])
  expect(code).toBe(0)
  const text = stdout.replaceAll(/\s+/g, ' ')
  expect(text).toContain(`a@strict.test: content: ${note}`)
  expect(text).toContain(`Fix: ${advice}`)
})
