import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { installation, posthaste, type Run } from './program.ts'

/** Tests backups encrypted for other keys: what the `age` program can open, and what it creates. */

let config: string
let dataDir: string
let folder: string
let identity: string
let recipient: string
const run = (args: string[], more: object = {}): Promise<Run> =>
  posthaste([...args, '--config', config], more)
const inside = (name: string): string => join(folder, name)

beforeAll(async () => {
  ;({ config, dataDir } = installation())
  folder = dirname(dataDir)
  const input = 'a long password for tests\n'
  expect(await run(['setup', '--email', 'a@b.example'], { input })).toMatchObject({ code: 0 })
  expect(await run(['domain', 'add', 'sender.example'])).toMatchObject({ code: 0 })
  identity = inside('identity')
  execFileSync('age-keygen', ['-o', identity], { stdio: 'ignore' })
  recipient = execFileSync('age-keygen', ['-y', identity], { encoding: 'utf8' }).trim()
})

test('a backup for a recipient decrypts with age, and is restored with the identity', async () => {
  const file = inside('night.age')
  const made = await run(['backup', file, '--recipient', recipient, '--json'])
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(made.stdout)).toMatchObject({
    object: 'backup',
    encrypted: true,
    verified: true,
    master_key: { included: true },
  })
  const bytes = readFileSync(file)
  expect(bytes.toString('latin1', 0, 21)).toBe('age-encryption.org/v1')
  // There is exactly one recipient: the key used for checking the file has no stanza in it.
  expect(bytes.toString('latin1', 0, 400).match(/^-> /gm)).toHaveLength(1)
  const archive = execFileSync('age', ['--decrypt', '-i', identity, file])
  const names = execFileSync('tar', ['-tzf', '-'], { input: archive, encoding: 'utf8' }).trim().split('\n')
  expect(names).toEqual(
    expect.arrayContaining(['posthaste-backup.json', 'master.key', 'posthaste.db', 'manifest.json']),
  )
  // Nothing is left behind, neither next to the file nor in the data directory.
  expect(
    [...readdirSync(folder), ...readdirSync(dataDir)].filter((name) => name.includes('.partial')),
  ).toEqual([])

  const closed = await run(['restore', file, '--data-dir', inside('closed')])
  expect(closed).toMatchObject({ code: 1, stdout: '' })
  expect(closed.stderr).toContain('is encrypted. To decrypt it, use --identity-file or --passphrase-file')
  const target = inside('opened')
  expect(await run(['restore', file, '--data-dir', target, '--identity-file', identity])).toMatchObject({
    code: 0,
    stderr: '',
  })
  expect(readFileSync(join(target, 'master.key'))).toEqual(readFileSync(join(dataDir, 'master.key')))
})

test('a backup with a passphrase is restored with that passphrase only', async () => {
  const file = inside('words.age')
  const passphrase = inside('passphrase')
  writeFileSync(passphrase, 'four quiet harbour words\n', { mode: 0o600 })
  expect(await run(['backup', file, '--passphrase-file', passphrase])).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(file, 'latin1')).toMatch(/^age-encryption\.org\/v1\n-> scrypt /)
  const wrong = inside('wrong')
  writeFileSync(wrong, 'four loud harbour words\n', { mode: 0o600 })
  const refused = await run(['restore', file, '--data-dir', inside('refused'), '--passphrase-file', wrong])
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toContain('encrypted for another identity, or with another passphrase')
  const opened = await run(['restore', file, '--data-dir', inside('words'), '--passphrase-file', passphrase])
  expect(opened).toMatchObject({ code: 0, stderr: '' })
  chmodSync(wrong, 0o644)
  const open = await run(['restore', file, '--data-dir', inside('refused'), '--passphrase-file', wrong])
  expect(open.stderr).toBe(`Everyone on this machine can read ${wrong}. Run: chmod 600 ${wrong}\n`)
})

test('a backup encrypted by age itself is restored, but not with a changed byte', async () => {
  const plain = inside('plain.tar.gz')
  expect(await run(['backup', plain])).toMatchObject({ code: 0 })
  const file = inside('by-age.age')
  execFileSync('age', ['--encrypt', '-r', recipient, '-o', file, plain])
  const open = (name: string, from: string) =>
    run(['restore', from, '--data-dir', inside(name), '--identity-file', identity])
  expect(await open('by-age', file)).toMatchObject({ code: 0, stderr: '' })
  const bytes = readFileSync(file)
  bytes[bytes.length - 1000]! ^= 1
  writeFileSync(inside('changed.age'), bytes)
  const changed = await open('changed', inside('changed.age'))
  expect(changed).toMatchObject({ code: 1, stdout: '' })
  expect(changed.stderr).toContain('Nothing was restored.')
  expect(readdirSync(inside('changed')).filter((name) => !name.startsWith('daemon.'))).toEqual([])
  // If an encrypted backup is expected, a plain one is refused.
  expect((await open('plain', plain)).stderr).toContain('is not encrypted')
})

test('an invalid recipient, recipient and passphrase together, and an empty passphrase are rejected', async () => {
  const refusedBy = async (args: string[]) => run(['backup', inside('never.age'), ...args])
  expect(await refusedBy(['--recipient', 'age1nobody'])).toMatchObject({
    code: 1,
    stderr: 'age1nobody is not an age recipient. Expected a public key from age-keygen, such as age1….\n',
  })
  const empty = inside('empty')
  writeFileSync(empty, '\n', { mode: 0o600 })
  expect(await refusedBy(['--recipient', recipient, '--passphrase-file', empty])).toMatchObject({ code: 2 })
  expect((await refusedBy(['--passphrase-file', empty])).stderr).toContain('no passphrase on its first line')
  expect(readdirSync(folder)).not.toContain('never.age')
})
