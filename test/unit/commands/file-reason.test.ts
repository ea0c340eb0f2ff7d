import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { userName, fileReason } from '../../../appliance/commands/failure.ts'

test('where access was denied it is told who was, as root’s commands run as another user', () => {
  const denied = new Error("EACCES: permission denied, open '/root/hosted.key'")
  expect(fileReason(denied)).toBe(
    `${denied.message}. The user ${userName()} has no permission. Grant it, or run the command as another user (docs/install.md).`,
  )
  expect(fileReason(new Error('No mail. EPERM: x.'))).toMatch(/^No mail\. EPERM: x\. The user /)
})

test('what is not there, and a directory in the place of a file, are told in words', async () => {
  const reason = (path: string) => readFile(path).catch(fileReason)
  expect(await reason('/nowhere/list.csv')).toBe('/nowhere/list.csv does not exist')
  expect(await reason('/')).toBe('it is a directory')
})

test('other reasons are told as they are', () => {
  expect(fileReason(new Error("ENOENT: no such file or directory, open 'x'"))).toBe(
    "ENOENT: no such file or directory, open 'x'",
  )
  expect(fileReason('half a reason')).toBe('half a reason')
})
