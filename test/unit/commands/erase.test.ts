import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { NewEmail, Storage } from '../../../appliance/storage/storage.ts'
import { makeTeam, putEmail } from '../../contract/fixtures.ts'
import { installation, posthaste } from './program.ts'

const ADA = 'ada.lovelace@x.example'
const { dataDir, config } = installation()
const run = (...args: string[]) => posthaste([...args, '--config', config])
let storage: Storage
let teamId: string
let email: NewEmail

beforeAll(async () => {
  storage = await openSqlite({ dataDir })
  teamId = (await makeTeam(storage)).team.id
  email = await putEmail(storage, teamId, [ADA], Date.now())
  await putEmail(storage, teamId, ['bob@x.example'], Date.now())
})
afterAll(() => storage.close())

const waiting = async (): Promise<string[]> => {
  const { items } = await storage.listQueue({ state: 'waiting', limit: 10 }, Date.now())
  return items.map(({ recipient }) => recipient).sort()
}

test('erase deletes nothing without --yes when there is no terminal', async () => {
  expect(await run('erase', ADA)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'This cannot be undone. Preview it with --dry-run, then confirm with --yes.\n',
  })
  expect(await waiting()).toEqual([ADA, 'bob@x.example'])
})

test('erase --dry-run counts what would be erased and changes nothing', async () => {
  const { code, stdout, stderr } = await run('erase', ADA, '--dry-run')
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^The erasure would affect:\n/)
  expect(stdout).toMatch(/^queued deliveries failed +1$/m)
  expect(stdout).toMatch(/^emails with the address +1$/m)
  const counted = JSON.parse((await run('erase', ADA, '--dry-run', '--json')).stdout) as object
  expect(counted).toMatchObject({ counts: { deliveries: 1, emails: 1, recipients: 1 } })
  expect(await waiting()).toEqual([ADA, 'bob@x.example'])
  expect((await storage.getEmail({ teamId, id: email.id }, Date.now()))?.to).toEqual([ADA])
})

test('erase rejects an invalid address', async () => {
  const { code, stdout, stderr } = await run('erase', 'ada', '--yes')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/address/)
})

test("erase --yes erases one person, reports the counts, and keeps other people's data", async () => {
  const { code, stdout } = await run('erase', ADA, '--yes', '--json')
  expect(code).toBe(0)
  const done = JSON.parse(stdout) as { object: string; status: string; counts: Record<string, number> }
  expect(done).toMatchObject({
    object: 'erasure',
    status: 'done',
    counts: { deliveries: 1, emails: 1, recipients: 1 },
  })
  expect(stdout.toLowerCase()).not.toContain('lovelace')
  expect(await waiting()).toEqual(['bob@x.example'])
  const kept = await storage.getEmail({ teamId, id: email.id }, Date.now())
  expect(JSON.stringify(kept).toLowerCase()).not.toContain('lovelace')
})

test('erase finds nothing on a second run', async () => {
  const { code, stdout } = await run('erase', ADA, '--yes')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Erased\. Receipt \S+:\n/)
  expect(stdout).toMatch(/^emails with the address +0$/m)
})
