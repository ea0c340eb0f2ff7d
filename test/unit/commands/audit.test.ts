import type { Command } from 'commander'
import { beforeAll, expect, test } from 'vitest'
import { AUDITED_COMMANDS } from '../../../appliance/commands/audited-command.ts'
import { createProgram } from '../../../appliance/commands/program.ts'
import { installation, posthaste, type Run } from './program.ts'

let config: string
beforeAll(() => {
  config = installation('').config
})
const run = (args: string[], input = ''): Promise<Run> => posthaste([...args, '--config', config], { input })

/** Commands that only read, run something, or write their own audit entries. */
const NO_ACT = [
  'serve',
  'migrate',
  'migrate-storage',
  'version',
  'status',
  'doctor',
  'simulate',
  'crashtest',
  'backup',
  'restore',
  'audit',
  'retention',
  'erase',
  'domain list',
  'domain show',
  'key list',
  'team list',
  'team provider-rules',
  'domain provider-rules',
  'domain reputation',
  'domain insights',
  'member list',
  'user list',
  'suppression list',
  'suppression export',
  'webhook list',
  'webhook show',
  'webhook ping',
  'queue list',
  'queue count',
  'queue show',
  'queue hold',
  'queue release',
  'queue retry',
  'queue reroute',
  'queue expire',
  'queue drop',
  'queue undo',
  'source list',
  'source reputation',
  'node list',
  'provider list',
  'provider show',
  'lane list',
  'metrics show',
  'metrics breakdown',
  'tls policy',
  'certificate list',
  'queue lanes',
  'queue holds',
  'source assignments',
  'source pools',
  'region list',
  'region preview',
  'contact list',
  'contact show',
  'segment list',
  'segment show',
  'topic list',
  'topic show',
  'template list',
  'template show',
  'inbound list',
  'inbound show',
  'inbound rules',
  'email export',
  'report list',
  'report show',
  'broadcast list',
  'broadcast show',
  'broadcast review',
  'automation list',
  'automation show',
  'automation runs',
  'automation run',
  'automation test',
  'alert list',
  'alert show',
  'alert settings',
  'archive show',
  'form list',
  'form show',
  'form html',
  'event list',
  'event show',
  'event sent',
  'event send',
  'secrets status',
  'secrets rekey',
]

const namesOf = (command: Command, at: string[] = []): string[] =>
  command.commands.length === 0
    ? [at.join(' ')]
    : command.commands.flatMap((one) => namesOf(one, [...at, one.name()]))

test('every command is classified as audited or not', () => {
  const program = createProgram(
    () => Promise.reject(new Error('no command runs here')),
    '0.0.0',
    () => undefined,
  )
  expect(namesOf(program).toSorted()).toEqual([...Object.keys(AUDITED_COMMANDS), ...NO_ACT].toSorted())
})

test('the audit log records the changes that commands make, without passwords and tokens', async () => {
  const password = 'a quiet harbour at dusk'
  expect(await run(['setup', '--email', 'owner@acme.example'], `${password}\n`)).toMatchObject({ code: 0 })
  const made = await run(['key', 'create', '--name', 'shop'])
  expect(made.code).toBe(0)
  expect(await run(['suppression', 'add', 'carol@example.com'])).toMatchObject({ code: 0 })
  expect(await run(['domain', 'remove', 'nobody.example'])).toMatchObject({ code: 1 })
  const { stdout } = await run(['audit', '--json'])
  const { data } = JSON.parse(stdout) as { data: { target: string }[] }
  expect(data).toMatchObject([
    { action: 'domain.delete', target: 'domain nobody.example', outcome: 'refused' },
    { action: 'suppression.create', details: { command: 'suppression add' }, outcome: 'done' },
    { action: 'api_key.create', actor_kind: 'command', ip: null, details: { name: 'shop' } },
    { action: 'team.create', after: { user: { email: 'owner@acme.example' } } },
  ])
  for (const secret of [password, made.stdout.trim(), 'carol@']) expect(stdout).not.toContain(secret)

  expect(await run(['team', 'rename', 'Acme Sons'])).toMatchObject({ code: 0 })
  expect(await run(['provider', 'set', 'google', 'connections=3'])).toMatchObject({ code: 0 })
  const { id } = (JSON.parse((await run(['key', 'list', '--json'])).stdout) as { data: { id: string }[] })
    .data[0]!
  expect(await run(['key', 'revoke', id])).toMatchObject({ code: 0 })
  const later = JSON.parse((await run(['audit', '--json'])).stdout) as { data: object[] }
  expect(later.data.slice(0, 3)).toMatchObject([
    { action: 'api_key.delete', before: { name: 'shop' }, after: { deleted: true } },
    { action: 'provider.update', before: { connections: 5 }, after: { connections: 3 } },
    { action: 'team.rename', before: { name: 'My team' }, after: { name: 'Acme Sons' } },
  ])

  const text = (await run(['audit', '--limit', '3'])).stdout
  for (const sentence of [
    / deleted the API key “shop”$/m,
    / changed connections of .+ from 5 to 3$/m,
    / renamed the team “My team” to “Acme Sons”$/m,
  ])
    expect(text.replaceAll(/\n +/g, ' ')).toMatch(sentence)

  const csv = (await run(['audit', '--csv', '--action', 'api_key'])).stdout.trim().split('\n')
  expect(csv).toHaveLength(3)
  expect(await run(['audit', '--since', 'yesterday'])).toMatchObject({ code: 2, stdout: '' })
  expect(await run(['audit', '--csv', '--json'])).toMatchObject({ code: 2, stdout: '' })
})
