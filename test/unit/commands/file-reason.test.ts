import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { systemUserName, describeFileError } from '../../../appliance/commands/failure.ts'

test('the reason of a denied access includes the name of the user', () => {
  const denied = new Error("EACCES: permission denied, open '/root/hosted.key'")
  expect(describeFileError(denied)).toBe(
    `${denied.message}. The user ${systemUserName()} has no permission. Grant it, or run the command as another user (docs/install.md).`,
  )
  expect(describeFileError(new Error('No mail. EPERM: x.'))).toMatch(/^No mail\. EPERM: x\. The user /)
})

test('explains a missing file, and a directory in place of a file', async () => {
  const reason = (path: string) => readFile(path).catch(describeFileError)
  expect(await reason('/nowhere/list.csv')).toBe('/nowhere/list.csv does not exist')
  expect(await reason('/')).toBe('it is a directory')
})

test('returns other reasons unchanged', () => {
  expect(describeFileError(new Error("ENOENT: no such file or directory, open 'x'"))).toBe(
    "ENOENT: no such file or directory, open 'x'",
  )
  expect(describeFileError('half a reason')).toBe('half a reason')
})
