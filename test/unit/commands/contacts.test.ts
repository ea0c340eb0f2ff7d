import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { installation, posthaste, type Run } from './program.ts'

let config: string
let folder: string
beforeAll(async () => {
  const made = installation()
  config = made.config
  folder = made.dataDir
  await run(['setup', '--email', 'owner@sender.test'], 'a long password\n')
})

const run = (args: string[], input = ''): Promise<Run> => posthaste([...args, '--config', config], { input })

test('contact, segment and topic lists report that they are empty', async () => {
  expect(await run(['contact', 'list'])).toMatchObject({ code: 0, stdout: 'No contacts.\n' })
  expect(await run(['segment', 'list'])).toMatchObject({ code: 0, stdout: 'No segments.\n' })
  expect(await run(['topic', 'list'])).toMatchObject({ code: 0, stdout: 'No topics.\n' })
  expect(await run(['contact', 'show', 'ada@one.test'])).toMatchObject({
    code: 1,
    stderr: 'Contact not found. See: posthaste contact list\n',
  })
  expect(await run(['contact', 'export'])).toMatchObject({
    code: 0,
    stdout: 'id,email,first_name,last_name,unsubscribed,created_at\n',
  })
  expect((await run(['segment', 'show', 'VIP'])).code).toBe(2)
})

test('contact import previews a file without queuing it, and queues it without --preview', async () => {
  const file = join(folder, 'people.csv')
  writeFileSync(file, 'E-Mail;First name;Plan\nada@one.test;Ada;pro\nnobody;Eve;free\n')
  const preview = await run(['contact', 'import', file, '--preview'])
  expect(preview).toMatchObject({ code: 0, stderr: expect.stringMatching(/^line 3: /) as string })
  expect(preview.stdout).toContain('New: 1 · changed: 0 · skipped: 0 · failed: 1\n')
  expect(preview.stdout).toMatch(/^E-Mail +email/m)
  const queued = await run(['contact', 'import', '-'], 'email\nbob@one.test\n')
  expect(queued.stdout).toMatch(/^Queued import [0-9a-f-]{36}\. The server imports it in the background\.\n$/)
})

test("contact export prints a person's data as JSON, even without a contact", async () => {
  const found = await run(['contact', 'export', 'eve@one.test'])
  expect(found).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(found.stdout)).toMatchObject({ address: 'eve@one.test', contact: null, emails: [] })
  expect(await run(['contact', 'export', 'eve'])).toMatchObject({ code: 1, stdout: '' })
})

test('a missing file, a file without an address column and an excessive limit are rejected', async () => {
  const missing = await run(['contact', 'import', join(folder, 'none.csv')])
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('does not exist') as string })
  expect((await run(['contact', 'import', '-'], 'name\nAda\n')).code).toBe(1)
  expect(await run(['contact', 'list', '--limit', '1001'])).toMatchObject({ code: 1 })
})
