import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createHook } from '../../../appliance/certificates/hook.ts'
import { systemClock } from '../../../appliance/clock/clock.ts'

async function withScript(
  text: string,
  work: (file: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-hook-'))
  const file = join(folder, 'hook')
  await writeFile(file, text)
  await chmod(file, 0o700)
  await work(file, folder)
  await rm(folder, { recursive: true })
}

test('passes the record to the hook in its environment, without POSTHASTE_ variables', async () => {
  await withScript(
    '#!/bin/sh\nenv > "$(dirname "$0")/env"; echo "$@" >> "$(dirname "$0")/env"\n',
    async (file, folder) => {
      process.env.POSTHASTE_SECRET = 'not to be seen'
      await createHook(file, 20, systemClock)('present', 'mail.a.test', '$(touch /tmp/x)')
      const seen = await readFile(join(folder, 'env'), 'utf8')
      expect(seen).toContain('ACME_DOMAIN=mail.a.test\n')
      expect(seen).toContain('ACME_RECORD=_acme-challenge.mail.a.test\n')
      expect(seen).toContain('ACME_VALUE=$(touch /tmp/x)\n')
      expect(seen.trimEnd().split('\n').at(-1)).toBe('present')
      expect(seen).not.toContain('POSTHASTE_SECRET')
      delete process.env.POSTHASTE_SECRET
    },
  )
})

test('a hook that does not finish in time is killed with its child processes', async () => {
  await withScript('#!/bin/sh\nsleep 600 & sleep 600\n', async (file) => {
    await expect(createHook(file, 1, systemClock)('present', 'mail.a.test', 'v')).rejects.toThrow(
      `acme.hook ${file} present for mail.a.test failed: it did not finish within 1 seconds.`,
    )
  })
})

test('reports a failed hook with its exit code and output, even if a child process keeps running', async () => {
  await withScript('#!/bin/sh\nsleep 30 &\necho "no such zone" >&2\nexit 3\n', async (file) => {
    await expect(createHook(file, 20, systemClock)('present', 'mail.a.test', 'v')).rejects.toThrow(
      `acme.hook ${file} present for mail.a.test failed: exit code 3. no such zone`,
    )
  })
})

test('a missing hook is reported', async () => {
  await expect(
    createHook('/nonexistent/hook', 5, systemClock)('cleanup', 'mail.a.test', 'v'),
  ).rejects.toThrow(
    /^acme\.hook \/nonexistent\/hook cleanup for mail\.a\.test failed: .*ENOENT\. Check that it exists and that the service can execute it\.$/,
  )
})
