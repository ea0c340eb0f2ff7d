import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { installation, posthaste } from './program.ts'

const { dataDir, config } = installation()
const run = (args: string[]) => posthaste([...args, '--config', config])
let storage: Storage
beforeAll(async () => {
  storage = await openSqlite({ dataDir })
  const user = { id: 'u', email: 'owner@acme.example', passwordHash: '', provenAt: null, createdAt: 0 }
  await storage.createOwner({ team: { id: 't', name: 'Acme', createdAt: 0 }, user }, 0)
})
afterAll(() => storage.close())

describe('team', () => {
  test('team plan changes the plan of the team', async () => {
    expect(await run(['team', 'plan', 'free'])).toEqual({
      code: 0,
      stdout: 'The team "Acme" now has the plan free: 100 recipients a day and 3000 recipients a month.\n',
      stderr: '',
    })
    const { id: teamId, name } = (await storage.firstTeam({}, 0))!
    expect(await storage.planOf({ teamId }, Date.now())).toBe('free')
    const back = await run(['team', 'plan', 'unlimited', '--json'])
    expect(JSON.parse(back.stdout)).toEqual({
      object: 'team',
      id: teamId,
      name,
      plan: 'unlimited',
      mfa_required: false,
      members: 1,
      created_at: expect.any(String) as string,
    })
  })

  test('team plan lists the available plans when given an unknown plan', async () => {
    expect(await run(['team', 'plan', 'gold'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Unknown plan gold. Available plans: unlimited, free.\n',
    })
  })
})
