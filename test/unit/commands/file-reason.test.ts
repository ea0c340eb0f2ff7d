import { expect, test } from 'vitest'
import { fileReason } from '../../../appliance/commands/file-reason.ts'
import { userName } from '../../../appliance/commands/user-name.ts'

test('where access was denied it is told who was, as root’s commands run as another user', () => {
  const denied = new Error("EACCES: permission denied, open '/root/hosted.key'")
  expect(fileReason(denied)).toBe(
    `${denied.message}. The user ${userName()} may not: give that user access, or run it as another (docs/install.md).`,
  )
  expect(fileReason(new Error('No mail. EPERM: x.'))).toMatch(/^No mail\. EPERM: x\. The user /)
})

test('other reasons are told as they are', () => {
  expect(fileReason(new Error("ENOENT: no such file or directory, open 'x'"))).toBe(
    "ENOENT: no such file or directory, open 'x'",
  )
  expect(fileReason('half a reason')).toBe('half a reason')
})
