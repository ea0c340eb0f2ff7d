import { expect } from 'vitest'
import { run } from './daemon.ts'
import type { World } from './world.ts'

/**
 * Sets up an appliance through the command line, as an operator does, with the verified domain sender.test. Returns an
 * API key.
 */
export async function setUpByCommands(config: string, world: World): Promise<string> {
  const common = ['--config', config, '--json']
  expect(
    await run(['setup', '--email', 'owner@sender.test', ...common], 'a long password for tests\n'),
  ).toMatchObject({ code: 0 })
  const added = await run(['domain', 'add', 'sender.test', ...common])
  const domain = JSON.parse(added.stdout) as {
    records: { fqdn: string; type: 'TXT' | 'MX'; value: string; priority?: number }[]
  }
  for (const fqdn of new Set(domain.records.map((record) => record.fqdn))) {
    const here = domain.records.filter((record) => record.fqdn === fqdn)
    world.dns.set(fqdn, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: here
        .filter(({ type }) => type === 'MX')
        .map(({ value, priority }) => ({ preference: priority!, exchange: value })),
    })
  }
  expect(await run(['domain', 'verify', 'sender.test', ...common])).toMatchObject({ code: 0 })
  const key = await run(['key', 'create', '--name', 'test', ...common])
  return (JSON.parse(key.stdout) as { token: string }).token
}
