import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createLaneState,
  pauseManually,
  Providers,
  serializeLane,
} from '../../../appliance/shaping/shaping.ts'
import { loadProviders } from '../../../appliance/config/config.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { installation, posthaste } from './program.ts'

let config: string
let storage: Storage
const says = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await posthaste([...args, '--config', config])
  return `${code} ${stdout}${stderr}`
}

beforeAll(async () => {
  const made = installation('')
  config = made.config
  await posthaste(['setup', '--email', 'owner@sender.test', '--config', config], {
    input: 'a long password\n',
  })
  storage = await openSqlite({ dataDir: made.dataDir })
})
afterAll(() => storage.close())

describe('provider', () => {
  test('provider list shows the shipped providers and the default', async () => {
    const text = await says('provider', 'list')
    expect(text).toMatch(/^0 ID +CONNS +PER CONN +PER MIN +RCPTS +IDLE S +NAME\n/)
    expect(text).toMatch(/^google +\d+ +\d+ +\d+ +\d+ +\d+ +Google$/m)
    expect(text).toMatch(/^default +/m)
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  test('provider set changes limits, show marks them as changed, and an empty value restores the default', async () => {
    expect(await says('provider', 'set', 'Google', 'connections=3', 'warm_up=10,20')).toMatch(
      /^0 google {2}Google\n[^]*^connections +3 +changed$[^]*^warm_up +10,20 +changed$/m,
    )
    expect(await says('provider', 'show', 'google')).toMatch(/^connections +3 +changed$/m)
    expect(await says('provider', 'set', 'google', 'connections=', 'warm_up=')).not.toContain('changed')
  })

  test('provider show lists the replies that pause sending', async () => {
    expect(await says('provider', 'show', 'yahoo')).toMatch(
      /^pauses \d+ minutes if the provider defers .*unexpected volume/m,
    )
  })

  test.each([
    [['google', 'connections=0'], 'connections'],
    [['google', 'conections=3'], 'conections'],
    [['google', 'connections'], '"connections" is not valid. Use name=number, such as connections=3.'],
  ])('provider set %j is a usage error', async (args, why) => {
    const text = await says('provider', 'set', ...args)
    expect(text).toMatch(/^2 /)
    expect(text).toContain(why)
  })

  test.each([
    [['show', '?example.test'], 'Provider ?example.test not found. See: posthaste provider list'],
    [['show', 'gogle'], 'Provider gogle not found. See: posthaste provider list'],
    [['set', 'gogle', 'connections=3'], 'Provider gogle not found. See: posthaste provider list'],
  ])('provider %j fails with not found', async (args, why) => {
    const text = await says('provider', ...args)
    expect(text).toMatch(/^1 /)
    expect(text).toContain(why)
  })
})

describe('lane', () => {
  test('lane list is empty before any mail was sent', async () => {
    expect(await says('lane', 'list')).toBe('0 No lanes yet.\n')
  })

  test('lane list shows the reason of a pause; pause and resume change it', async () => {
    const { limits } = new Providers(loadProviders({ connections: 10 })).get('google')
    const now = Date.now()
    const state = serializeLane(pauseManually(createLaneState(limits), now + 3_600_000, now))
    const told = { pausedUntil: now + 3_600_000, reason: null, reasonAt: now, updatedAt: now }
    await storage.saveLanes({ lanes: [{ source: 'auto', provider: 'google', state, ...told }] }, now)
    const listed = await says('lane', 'list')
    expect(listed).toMatch(/^auto~google +5 of \d+ +\d+ of \d+ +paused until \d{4}-\d\d-\d\d \d\d:\d\d/m)
    expect(listed).toContain(': paused by an operator')
    expect(await says('lane', 'resume', 'auto~google')).toBe('0 auto~google: resumed by an operator\n')
    expect(await says('lane', 'list')).toMatch(/^auto~google .* open$/m)
    expect(await says('lane', 'pause', 'auto~google', '--minutes', '5')).toMatch(/^0 auto~google: .*operator/)
    expect(await says('lane', 'list')).toMatch(/^auto~google .* paused until /m)
  })

  test('lane pause rejects an unknown lane', async () => {
    expect(await says('lane', 'pause', '192.0.2.9~google')).toMatch(/^1 /)
  })
})
