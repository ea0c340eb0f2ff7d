import { beforeAll, expect, test } from 'vitest'
import { createTemplates } from '../../../appliance/templates/templates.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createTestClock } from '../../world/clock.ts'
import { installation, posthaste, type Run } from './program.ts'

let config: string
beforeAll(async () => {
  const made = installation()
  config = made.config
  await run(['setup', '--email', 'owner@sender.test'], 'a long password\n')
  expect(await run(['template', 'list'])).toMatchObject({ code: 0, stdout: 'No templates.\n' })
  const storage = await openSqlite({ dataDir: made.dataDir })
  const templates = createTemplates({ storage, clock: createTestClock() })
  const { id: teamId } = (await storage.firstTeam({}, 0))!
  const input = {
    name: 'Order',
    alias: 'order',
    subject: 'Order {{{NUMBER}}}',
    html: '<p>{{{ITEM}}}</p>',
    variables: [
      { key: 'NUMBER', type: 'number' },
      { key: 'ITEM', type: 'string', fallback_value: 'Tea' },
    ],
  }
  await templates.create({ teamId, input, author: 'ada@sender.test' })
  await storage.close()
})

const run = (args: string[], input = ''): Promise<Run> => posthaste([...args, '--config', config], { input })

test('lists, shows and publishes a template by its alias', async () => {
  const shown = await run(['template', 'show', 'order'])
  expect(shown.stdout).toMatch(/^Status +draft$/m)
  expect(shown.stdout).toMatch(/^Variable NUMBER +number, required$/m)
  expect(shown.stdout).toMatch(/^Variable ITEM +string, fallback Tea$/m)
  expect(await run(['template', 'publish', 'order'])).toMatchObject({ code: 0, stdout: 'Published Order.\n' })
  expect((await run(['template', 'list', '--search', 'ord'])).stdout).toMatch(/ published +order +Order$/m)
  expect(await run(['template', 'list', '--search', 'nothing'])).toMatchObject({ stdout: 'No templates.\n' })
})

test('an unknown template is rejected with a hint', async () => {
  const refused = { code: 1, stderr: 'Template not found. See: posthaste template list\n' }
  expect(await run(['template', 'show', 'none'])).toMatchObject(refused)
  expect(await run(['template', 'publish', 'none'])).toMatchObject(refused)
  expect(await run(['template', 'list', '--limit', '101'])).toMatchObject({ code: 1 })
})
