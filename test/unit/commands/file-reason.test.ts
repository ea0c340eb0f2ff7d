import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { userName, fileReason } from '../../../appliance/commands/failure.ts'

test('a denied access is explained with the name of the user', () => {
  const denied = new Error("EACCES: permission denied, open '/root/hosted.key'")
  expect(fileReason(denied)).toBe(
    `${denied.message}. The user ${userName()} has no permission. Grant it, or run the command as another user (docs/install.md).`,
  )
  expect(fileReason(new Error('No mail. EPERM: x.'))).toMatch(/^No mail\. EPERM: x\. The user /)
})

test('a missing file and a directory in place of a file are explained', async () => {
  const reason = (path: string) => readFile(path).catch(fileReason)
  expect(await reason('/nowhere/list.csv')).toBe('/nowhere/list.csv does not exist')
  expect(await reason('/')).toBe('it is a directory')
})

test('other reasons are returned unchanged', () => {
  expect(fileReason(new Error("ENOENT: no such file or directory, open 'x'"))).toBe(
    "ENOENT: no such file or directory, open 'x'",
  )
  expect(fileReason('half a reason')).toBe('half a reason')
})
