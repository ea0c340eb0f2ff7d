import { describe, expect, test } from 'vitest'
import { listChangedKeys, reload } from '../../../appliance/commands/reload.ts'
import { loadConfig, type Config } from '../../../appliance/config/config.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'

function configOf(env: Record<string, string>): Config {
  const loaded = loadConfig({
    env: { POSTHASTE_HOSTNAME: 'mail.sender.test', ...env },
    defaultFile: '/nonexistent',
  })
  if ('complaints' in loaded) throw new Error('the configuration of the test is not sound')
  return loaded.config
}

const running = configOf({})
const log = createSilentLogger()
const reread = (env: Record<string, string>) => () => loadConfig({ env, defaultFile: '/nonexistent' })

describe('reload', () => {
  test('reload lists the settings that need a restart', () => {
    const after = configOf({ POSTHASTE_LOG__LEVEL: 'debug', POSTHASTE_DATA_DIR: '/srv/mail' })
    expect(listChangedKeys(running, after)).toEqual(['data_dir', 'log.level'])
    expect(listChangedKeys(running, configOf({}))).toEqual([])
  })

  test('reload reports success when nothing else changed', async () => {
    const same = reread({ POSTHASTE_HOSTNAME: 'mail.sender.test' })
    const status = await reload({ appliance: { reload: async () => [] }, running, reread: same, log })
    expect(status).toBe('Reloaded certificates and tables.')
  })

  test('reload keeps the current state when a part or the configuration is invalid', async () => {
    const appliance = { reload: async () => [new Error('the key does not belong to it')] }
    const status = await reload({ appliance, running, reread: reread({}), log })
    expect(status).toBe('Reloaded partially. See the log. The configuration has errors. See the log.')
  })
})
