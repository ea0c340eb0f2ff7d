import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { installation, posthaste, posthasteProcess } from './program.ts'

const { dataDir, config } = installation()

test.each([
  'domain list',
  'domain add sender.test',
  'queue list',
  'source list',
  'audit',
  'team list',
  'user list',
  'certificate list',
  'metrics recompute',
  'migrate',
])('before setup, %s fails with instructions and creates no files', async (command) => {
  expect(await posthaste([...command.split(' '), '--config', config])).toEqual({
    code: 1,
    stdout: '',
    stderr: `Posthaste has not been set up: there is no database in ${dataDir}. First run: posthaste setup --email you@example.com, then: posthaste serve\n`,
  })
  expect(readdirSync(dirname(config))).toEqual(['posthaste.toml'])
})

test('without a configuration file, a command reports that the sandbox has not been started', async () => {
  const env = { POSTHASTE_DATA_DIR: dataDir }
  expect(await posthasteProcess(['domain', 'list'], { env })).toEqual({
    code: 1,
    stdout: '',
    stderr: `The sandbox has not been started: there is no database in ${dataDir}. First run: posthaste serve\n`,
  })
  expect(existsSync(dataDir)).toBe(false)
})

test('setup creates the database that other commands use', async () => {
  const input = 'a long password\n'
  const made = await posthasteProcess(['setup', '--email', 'owner@sender.test', '--config', config], {
    input,
  })
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(await posthaste(['domain', 'list', '--config', config])).toMatchObject({ code: 0, stderr: '' })
})
