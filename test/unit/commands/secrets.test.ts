import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { lockDataDir } from '../../../appliance/storage/sqlite/sqlite.ts'
import { filesWith } from '../secrets/stock.ts'
import { installation, posthaste, posthasteProcess, type Run } from './program.ts'

const password = { input: 'a long password for tests\n' }

/** Creates an appliance with a domain and a webhook. Returns the webhook's secret, too. */
async function appliance() {
  const { config, dataDir } = installation()
  const run = (args: string[], more: object = {}): Promise<Run> =>
    posthaste([...args, '--config', config], more)
  const process = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    posthasteProcess([...args, '--config', config], { env })
  expect(await run(['setup', '--email', 'a@b.example'], password)).toMatchObject({ code: 0 })
  expect(await run(['domain', 'add', 'sender.example'])).toMatchObject({ code: 0 })
  const made = await run(['webhook', 'add', 'https://hooks.example/', '--json'])
  const { id, signing_secret: secret } = JSON.parse(made.stdout) as { id: string; signing_secret: string }
  const shown = async (): Promise<string> => {
    const { stdout } = await run(['webhook', 'show', id, '--json'])
    return (JSON.parse(stdout) as { signing_secret: string }).signing_secret
  }
  return { config, dataDir, run, process, id, secret, shown }
}

test('secrets rekey replaces the master key while no daemon runs, and is in the audit log', async () => {
  const { dataDir, run, secret, shown } = await appliance()
  const own = join(dataDir, 'master.key')
  expect(filesWith(dataDir, [Buffer.from(secret)])).toEqual([])
  const status = await run(['secrets', 'status', '--json'])
  expect(status).toMatchObject({ code: 0, stderr: '' })
  const before = JSON.parse(status.stdout) as { key_id: string }
  expect(before).toMatchObject({ object: 'secrets', source: own, usable: true, plain_snapshots: [] })
  expect(before).toMatchObject({
    counts: expect.arrayContaining([
      { kind: 'webhooks.secret', sealed: 1, plain: 0 },
      { kind: 'dkim_keys.private_key', sealed: 2, plain: 0 },
    ]) as unknown,
  })
  const text = await run(['secrets', 'status'])
  expect(text.stdout).toContain(`Encrypted with the master key ${before.key_id}`)
  expect(text.stdout).not.toContain(readFileSync(own, 'utf8').trim())

  const lock = await lockDataDir(dataDir)
  const busy = await run(['secrets', 'rekey'])
  expect(busy).toMatchObject({ code: 1, stdout: '' })
  expect(busy.stderr).toContain('Another daemon is running')
  lock.release()

  const done = await run(['secrets', 'rekey', '--json'])
  expect(done).toMatchObject({ code: 0, stderr: '' })
  const after = JSON.parse(done.stdout) as { to: string }
  expect(after).toMatchObject({
    object: 'secrets.rekey',
    from: before.key_id,
    cleaned: true,
    hand_over: false,
  })
  expect(await shown()).toBe(secret)
  const audit = await run(['audit', '--action', 'secrets', '--json'])
  expect(JSON.parse(audit.stdout)).toMatchObject({
    data: [{ action: 'secrets.rekey', actor_kind: 'command', after: { from: before.key_id, to: after.to } }],
  })
})

test('serve and other commands fail without the right master key, and name its source', async () => {
  const { dataDir, run, process, secret, shown } = await appliance()
  const own = join(dataDir, 'master.key')
  const kept = `${own}.kept`
  renameSync(own, kept)
  const missing = await process(['serve'])
  expect(missing.code).toBe(1)
  expect(missing.stderr).toContain(`but ${own} does not exist. Put the right key there`)
  expect(existsSync(own)).toBe(false)
  const env = { POSTHASTE_MASTER_KEY: randomBytes(32).toString('base64') }
  const wrong = await process(['serve'], env)
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toContain('but the environment variable POSTHASTE_MASTER_KEY contains another key')
  const listed = await run(['webhook', 'list'])
  expect(listed.code).toBe(1)
  expect(listed.stderr).toContain(`The storage in ${dataDir} could not be opened`)
  const status = await run(['secrets', 'status'])
  expect(status.code).toBe(1)
  expect(status.stdout.replaceAll('\n', ' ')).toContain('does not exist')
  const given = { POSTHASTE_MASTER_KEY: readFileSync(kept, 'utf8').trim() }
  const named = await process(['secrets', 'status', '--json'], given)
  expect(JSON.parse(named.stdout)).toMatchObject({
    usable: true,
    source: 'the environment variable POSTHASTE_MASTER_KEY',
  })
  expect(named.stderr).toBe('')
  renameSync(kept, own)
  expect(await shown()).toBe(secret)
})

test('a backup includes the generated master key, and needs nothing else to be restored', async () => {
  const { config, dataDir, run, secret, id } = await appliance()
  const folder = dirname(dataDir)
  const file = join(folder, 'whole.backup')
  const made = await run(['backup', file, '--json'])
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(made.stdout)).toMatchObject({ encrypted: false, master_key: { included: true } })
  const target = join(folder, 'restored')
  expect(await run(['restore', file, '--data-dir', target])).toMatchObject({ code: 0, stderr: '' })
  expect(filesWith(target, [Buffer.from(secret)])).toEqual([])
  writeFileSync(config, `hostname = "mail.sender.test"\ndata_dir = "${target}"\n`)
  const { stdout } = await run(['webhook', 'show', id, '--json'])
  expect(JSON.parse(stdout)).toMatchObject({ signing_secret: secret })
})

test('a backup made with --no-master-key reports that, and its restored data needs the key', async () => {
  const { config, dataDir, run, secret, id } = await appliance()
  const folder = dirname(dataDir)
  const file = join(folder, 'apart.backup')
  const made = await run(['backup', file, '--no-master-key'])
  expect(made.code).toBe(0)
  expect(made.stdout).toContain('It does not include the master key')
  const target = join(folder, 'restored')
  const restored = await run(['restore', file, '--data-dir', target])
  expect(restored.stdout.replaceAll('\n', ' ')).toContain('The server needs it to start')
  expect(existsSync(join(target, 'master.key'))).toBe(false)
  writeFileSync(config, `hostname = "mail.sender.test"\ndata_dir = "${target}"\n`)
  expect(await run(['webhook', 'show', id])).toMatchObject({ code: 1 })
  renameSync(join(dataDir, 'master.key'), join(target, 'master.key'))
  const { stdout } = await run(['webhook', 'show', id, '--json'])
  expect(JSON.parse(stdout)).toMatchObject({ signing_secret: secret })
  rmSync(folder, { recursive: true })
})
