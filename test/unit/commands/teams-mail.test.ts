import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { NewEmail, Storage } from '../../../appliance/storage/storage.ts'
import { makeTeam, newDomain, putEmail } from '../../contract/fixtures.ts'
import { installation, posthaste } from './program.ts'

/**
 * The operator's command line belongs to no team: it reads the mail of all teams, and acts for the one that is named.
 */

const { dataDir, config } = installation()
const run = (...args: string[]) => posthaste([...args, '--config', config])
let storage: Storage
let second: NewEmail
let teams: { id: string; name: string }[]

beforeAll(async () => {
  storage = await openSqlite({ dataDir })
  const first = await makeTeam(storage)
  const { team } = await makeTeam(storage, first.team.createdAt + 1000)
  for (const { id } of [first.team, team]) {
    await storage.createDomain(newDomain(id, `${id}.example`), Date.now())
  }
  teams = [first.team, team]
  second = await putEmail(storage, team.id, ['ada@x.example'], Date.now())
})
afterAll(() => storage.close())

test('queue show finds an email of a second team, by email or delivery ID', async () => {
  for (const id of [second.id, second.deliveries[0]!.id]) {
    const { code, stdout, stderr } = await run('queue', 'show', id)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`email    ${second.id}`)
    expect(stdout).toContain('ada@x.example')
  }
})

test('queue show reports an ID that no team has', async () => {
  const id = '0197c3e2-5a71-7000-8000-000000000000'
  expect(await run('queue', 'show', id)).toEqual({
    code: 1,
    stdout: '',
    stderr: `No email or queued delivery has the ID ${id}. For a finished delivery, use the ID of its email.\n`,
  })
})

test('status counts the domains of all teams', async () => {
  const { stdout } = await run('status')
  expect(stdout).toMatch(/^domains +2 not started$/m)
})

test('commands act for the first team, or for the one given with --team by name or ID', async () => {
  const { id, name } = teams[1]!
  const list = async (...args: string[]) => (await run('domain', 'list', '--json', ...args)).stdout
  expect(await list()).toContain(`"${teams[0]!.id}.example"`)
  for (const said of [id, id.toUpperCase(), name]) {
    expect(await list('--team', said)).toContain(`"${id}.example"`)
    expect(await list('--team', said)).not.toContain(teams[0]!.id)
  }
  expect(await run('domain', 'show', `${id}.example`)).toMatchObject({ code: 1, stdout: '' })
  expect(await run('domain', 'show', `${id}.example`, '--team', id)).toMatchObject({ code: 0, stderr: '' })
  expect(await run('domain', 'list', '--team', 'nobody')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Team nobody not found. See: posthaste team list\n',
  })
})

test('objects created with --team belong to that team, and so do their audit entries', async () => {
  const teamId = teams[1]!.id
  expect(await run('key', 'create', '--name', 'shop', '--team', teamId)).toMatchObject({ code: 0 })
  expect(await run('suppression', 'add', 'x@y.example', '--team', teamId)).toMatchObject({ code: 0 })
  expect(await run('team', 'plan', 'free', '--team', teamId)).toMatchObject({ code: 0 })
  const hook = ['webhook', 'add', 'https://hooks.example/x', '--team', teamId]
  expect(await run(...hook)).toMatchObject({ code: 0 })
  const now = Date.now()
  const keys = await Promise.all(teams.map(({ id }) => storage.listApiKeys({ teamId: id }, now)))
  expect(keys.map((some) => some.map(({ name }) => name))).toEqual([[], ['shop']])
  const hooks = await Promise.all(teams.map(({ id }) => storage.listWebhooks({ teamId: id }, now)))
  expect(hooks.map(({ length }) => length)).toEqual([0, 1])
  const plans = await Promise.all(teams.map(({ id }) => storage.planOf({ teamId: id }, now)))
  expect(plans).toEqual(['unlimited', 'free'])
  const { items } = await storage.listAudit({ teamId, limit: 10 }, now)
  expect(items.map(({ action }) => action)).toEqual([
    'webhook.create',
    'team.plan',
    'suppression.create',
    'api_key.create',
  ])
})

test('erase applies to the given team only, and its output says so', async () => {
  const erased = async (...args: string[]) => (await run('erase', 'ada@x.example', '--yes', ...args)).stdout
  const first = await erased()
  expect(first).toMatch(/^emails with the address +0$/m)
  expect(first).toContain(`This applies only to the team "${teams[0]!.name}"`)
  expect(await erased('--team', teams[1]!.name)).toMatch(/^emails with the address +1$/m)
})

test('doctor --domain finds a domain of a second team', async () => {
  const { stderr } = await run('doctor', '--domain', `${teams[1]!.id}.example`)
  expect(stderr).toBe('')
  const missing = await run('doctor', '--domain', 'missing.example')
  expect(missing.stderr).toMatch(/^Domain missing\.example not found\./)
})

test('source assign --team finds a domain of that team', async () => {
  const assign = ['source', 'assign', 'default', '--domain', `${teams[1]!.id}.example`]
  expect(await run(...assign)).toMatchObject({ code: 1, stdout: '' })
  expect(await run(...assign, '--team', teams[1]!.id)).toMatchObject({ code: 0, stderr: '' })
})

test('--team filters by ID or name in commands that cover all teams', async () => {
  const { id, name } = teams[1]!
  await putEmail(storage, id, ['bob@same.example'], Date.now())
  const waiting = async (...args: string[]) => {
    const { data } = JSON.parse(
      (await run('queue', 'list', '--json', '--domain', 'same.example', ...args)).stdout,
    ) as { data: object[] }
    return data.length
  }
  expect(await waiting()).toBe(1)
  expect([await waiting('--team', name), await waiting('--team', id)]).toEqual([1, 1])
  expect(await waiting('--team', teams[0]!.name)).toBe(0)
  const acts = async (...args: string[]) => {
    const { stdout } = await run('audit', '--json', '--action', 'domain.keep_bodies', ...args)
    return (JSON.parse(stdout) as { data: object[] }).data.length
  }
  await run('domain', 'bodies', `${id}.example`, 'keep', '--team', name)
  expect([await acts(), await acts('--team', name)]).toEqual([1, 1])
  expect(await acts('--team', teams[0]!.name)).toBe(0)
  const assigned = await run('source', 'assign', 'default', '--stream', 'broadcast', '--team', name, '--json')
  expect(JSON.parse(assigned.stdout)).toMatchObject({ team_id: id, stream: 'broadcast' })
  for (const command of [['queue', 'hold'], ['audit'], ['source', 'assign', 'default']])
    expect(await run(...command, '--team', 'nobody')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Team nobody not found. See: posthaste team list\n',
    })
})

test('--team with an ambiguous name fails and lists the IDs, and an ID takes precedence over a name', async () => {
  const [first, second] = teams as [{ id: string; name: string }, { id: string; name: string }]
  await storage.renameTeam({ id: second.id, name: first.name }, Date.now())
  expect(await run('audit', '--team', first.name)).toEqual({
    code: 1,
    stdout: '',
    stderr: `Several teams are named ${first.name}. Use the ID of one: ${first.id}, ${second.id}\n`,
  })
  await storage.renameTeam({ id: second.id, name: first.id }, Date.now())
  const listed = (await run('domain', 'list', '--json', '--team', first.id)).stdout
  expect(listed).toContain(`"${first.id}.example"`)
  expect(listed).not.toContain(second.id)
})
