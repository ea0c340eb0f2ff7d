import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { installation, posthaste, type Run } from './program.ts'

let config: string
beforeAll(async () => {
  config = installation().config
  await run(['setup', '--email', 'owner@sender.test'], 'a long password\n')
  await run(['domain', 'add', 'sender.test'])
})

const run = (args: string[], input = ''): Promise<Run> => posthaste([...args, '--config', config], { input })

/** The keys that tests read. Which ones exist depends on the command. */
interface Printed {
  id: string
  token: string
  data: unknown[]
}

/** Returns a command's --json output, and checks that it prints nothing else. */
async function json(args: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await run([...args, '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) as string })
  return JSON.parse(stdout) as Printed
}

const anyId = expect.stringMatching(/^[0-9a-f-]{36}$/) as string
const anyTime = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?\+00$/) as string

describe('domain', () => {
  test('domain rotate prints the records of the new keys, and show explains why they are pending', async () => {
    await run(['domain', 'add', 'rotate.test'])
    const { code, stdout } = await run(['domain', 'rotate', 'rotate.test'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^DKIM {3}TXT {2}posthaste-\d{8}\._domainkey\.rotate\.test {2}\(next key\)\n {2}v=DKIM1; k=rsa; p=/m,
    )
    const again = await json(['domain', 'rotate', 'rotate.test'])
    expect(again).toMatchObject({ object: 'dkim_rotation', dkim_keys: [{ state: 'pending' }, {}] })
    const shown = await run(['domain', 'show', 'rotate.test'])
    expect(shown.stdout).toMatch(
      /^posthaste-\d{8} +rsa-sha256 +pending .*\n {2}signs once its record is found in DNS$/m,
    )
    await run(['domain', 'remove', 'rotate.test'])
  })
})

describe('key', () => {
  test('key create prints only the token on standard output', async () => {
    const { code, stdout, stderr } = await run(['key', 'create', '--name', 'app', '--domain', 'sender.test'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^re_\w{8}_\w{32}\n$/)
    expect(stderr).toBe("Save the token now. It won't be shown again.\n")
  })

  test('key list never shows tokens, and revoke removes a key', async () => {
    const { id, token } = await json(['key', 'create', '--name', 'second'])
    expect(token).toMatch(/^re_/)
    const { stdout } = await run(['key', 'list'])
    const lines = stdout.replaceAll(/\n {2}/g, '  ')
    expect(lines).toMatch(/^ID {36}PREFIX {8}PERMISSION .*NAME\n/)
    expect(lines).toMatch(/ {2}re_\w{8}… {2}only sender\.test {2}- +app\n/)
    expect(lines).toContain(`  ${token.slice(0, 11)}…  full_access`)
    expect(stdout).not.toMatch(/re_\w{9}/)
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(await run(['key', 'revoke', id])).toMatchObject({ code: 0, stdout: `Revoked key ${id}.\n` })
    expect(await run(['key', 'revoke', id])).toMatchObject({
      code: 1,
      stderr: 'API key not found. See: posthaste key list\n',
    })
    expect((await json(['key', 'list'])).data).toEqual([
      {
        id: anyId,
        name: 'app',
        created_at: anyTime,
        last_used_at: null,
        permission: 'sending_access',
        domain_id: anyId,
        prefix: expect.stringMatching(/^re_\w{8}$/) as unknown,
      },
    ])
  })

  test('key create rejects an unknown domain, and a domain with full access', async () => {
    const [unknown, full] = await Promise.all([
      run(['key', 'create', '--name', 'x', '--domain', 'nowhere.test']),
      run(['key', 'create', '--name', 'x', '--domain', 'sender.test', '--permission', 'full_access']),
    ])
    expect(unknown).toMatchObject({
      code: 1,
      stderr: 'Domain nowhere.test not found. See: posthaste domain list\n',
    })
    expect(full).toMatchObject({ code: 1, stderr: 'Invalid `domain_id` field: only with sending_access.\n' })
  })
})

describe('suppression', () => {
  test('suppression add, list and remove manage suppressed addresses', async () => {
    expect(await run(['suppression', 'list'])).toMatchObject({
      code: 0,
      stdout: 'No addresses are suppressed.\n',
    })
    expect(await run(['suppression', 'add', 'Ada@Bücher.test'])).toEqual({
      code: 0,
      stdout: 'Suppressed Ada@xn--bcher-kva.test (manual).\n',
      stderr: '',
    })
    const added = await json(['suppression', 'add', 'ada@bücher.test'])
    const entry = {
      object: 'suppression',
      id: anyId,
      email: 'Ada@xn--bcher-kva.test',
      origin: 'manual',
      source_id: null,
      created_at: anyTime,
      reason: null,
      reply: null,
      removed_at: null,
    }
    expect(added).toEqual(entry)
    expect(await json(['suppression', 'list', '--origin', 'manual'])).toEqual({
      object: 'list',
      has_more: false,
      data: [entry],
    })
    expect((await run(['suppression', 'list'])).stdout).toMatch(
      /^SINCE +ORIGIN +ADDRESS\n[\d: -]{19} {2}manual {2}Ada@xn--bcher-kva\.test\n$/,
    )
    expect(await json(['suppression', 'remove', added.id])).toEqual({
      object: 'suppression',
      id: added.id,
      deleted: true,
    })
    expect(await run(['suppression', 'remove', 'ada@bücher.test'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Suppression not found. See: posthaste suppression list\n',
    })
    expect((await run(['suppression', 'list', '--origin', 'luck'])).code).toBe(2)
  })

  test('suppression import and export use CSV', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'posthaste-list-')), 'list.csv')
    await writeFile(file, 'email,created_at\nbob@csv.test,2026-01-02T03:04:05Z\nnonsense,\n')
    const warned = 'line 3: "nonsense" is not an email address; skipped\n'
    expect(await run(['suppression', 'import', file, '--preview', '--origin', 'bounce'])).toEqual({
      code: 0,
      stdout: 'To add: 1 · already present: 0 · skipped: 1\n',
      stderr: warned,
    })
    expect(await run(['suppression', 'import', file, '--origin', 'bounce'])).toEqual({
      code: 0,
      stdout: 'Added: 1 · already present: 0 · skipped: 1\n',
      stderr: warned,
    })
    expect((await run(['suppression', 'export', '--origin', 'bounce'])).stdout).toBe(
      'email,origin,created_at,source_id,reason,reply\nbob@csv.test,bounce,2026-01-02T03:04:05.000Z,,,\n',
    )
    const { code, stderr } = await run(['suppression', 'import', `${file}.missing`])
    expect([code, stderr]).toEqual([1, `Cannot read the list: ${file}.missing does not exist\n`])
  })
})
