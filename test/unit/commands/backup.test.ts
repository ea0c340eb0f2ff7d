import Database from 'better-sqlite3'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { installation, posthaste } from './program.ts'

const password = { input: 'a long password for tests\n' }

test('a backup is restored to another directory, and both are in the audit log', async () => {
  const { config, dataDir } = installation()
  const folder = dirname(dataDir)
  const file = join(folder, 'night.backup')
  const missing = await posthaste(['backup', file, '--config', config])
  expect(missing).toMatchObject({ code: 1, stdout: '' })
  expect(missing.stderr).toContain(`There is no database in ${dataDir}`)

  expect((await posthaste(['setup', '--email', 'a@b.example', '--config', config], password)).code).toBe(0)
  const made = await posthaste(['backup', file, '--json', '--config', config])
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(made.stdout)).toMatchObject({ object: 'backup', file, verified: true, bodies: true })
  const audit = await posthaste(['audit', '--action', 'backup', '--json', '--config', config])
  expect((JSON.parse(audit.stdout) as { data: object[] }).data).toMatchObject([
    {
      action: 'backup.create',
      actor_kind: 'command',
      target: 'backup',
      outcome: 'done',
      details: { arguments: [file], bodies: true },
      after: { verified: true },
    },
  ])
  const nowhere = await posthaste(['backup', join(folder, 'none', 'x'), '--config', config])
  expect(nowhere).toMatchObject({ code: 1, stdout: '' })
  expect(nowhere.stderr).toBe(`There is no directory ${join(folder, 'none')}. Create it or choose another.\n`)
  const again = await posthaste(['backup', file, '--config', config])
  expect(again).toMatchObject({ code: 1, stderr: `${file} already exists. Choose another file name.\n` })

  const target = join(folder, 'restored')
  const restored = await posthaste(['restore', file, '--data-dir', target])
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(restored.stdout).toContain('No deliveries were queued.')
  expect(readFileSync(join(target, 'restored-config', 'posthaste.toml'))).toEqual(readFileSync(config))
  const occupied = await posthaste(['restore', file, '--data-dir', target])
  expect(occupied.code).toBe(1)
  expect(occupied.stderr).toContain('is not empty')

  writeFileSync(config, `hostname = "mail.sender.test"\ndata_dir = "${target}"\n`)
  const read = await posthaste(['audit', '--action', 'backup', '--json', '--config', config])
  expect((JSON.parse(read.stdout) as { data: object[] }).data).toMatchObject([
    { action: 'backup.restore', actor_kind: 'command', details: { arguments: [file] }, after: { held: 0 } },
  ])
  const second = await posthaste(['setup', '--email', 'c@d.example', '--config', config], password)
  expect(second).toMatchObject({ code: 1 })
  expect(existsSync(join(target, 'restoring'))).toBe(false)
  const migrated = await posthaste(['migrate', '--json', '--config', config])
  expect(JSON.parse(migrated.stdout)).toMatchObject({ object: 'migration', snapshots: [] })
})

test('a backup succeeds with a warning when the audit log cannot be written', async () => {
  const { config, dataDir } = installation()
  const file = join(dirname(dataDir), 'full.backup')
  await posthaste(['setup', '--email', 'a@b.example', '--config', config], password)
  const db = new Database(join(dataDir, 'posthaste.db'))
  db.exec(`create trigger full before insert on audit_log begin select raise(fail, 'the disk is full'); end`)
  db.close()
  expect(await posthaste(['backup', file, '--no-verify', '--config', config])).toMatchObject({
    code: 0,
    stderr: 'The backup was created, but the audit log could not be written: the disk is full\n',
  })
  expect(existsSync(file)).toBe(true)
})
