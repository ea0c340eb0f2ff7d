import { expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { makeReturnPath, parseReturnPath, returnPathHost } from '../../../appliance/mail/address.ts'

const id = '019a1b2c-3d4e-7f60-8a9b-0c1d2e3f4a5b'

test('the return path names the email and the host that takes reports', () => {
  const host = returnPathHost({ name: 'example.com', returnPath: 'send' })
  expect(makeReturnPath(id, host)).toBe('bounce+019a1b2c3d4e7f608a9b0c1d2e3f4a5b@send.example.com')
})

test('a return path leads back to its email, even when a server on the way changed its case', () => {
  const fresh = newId(1_790_000_000_000)
  const path = makeReturnPath(fresh, 'send.example.com')
  expect(parseReturnPath(path)).toEqual({ emailId: fresh, host: 'send.example.com' })
  expect(parseReturnPath(path.toUpperCase())).toEqual({ emailId: fresh, host: 'send.example.com' })
})

test.each([
  '',
  'bob@example.com',
  'bounce+@send.example.com',
  'bounce+zz@send.example.com',
  `bounce+${id}@a@b`,
])('the address %j is no return path', (address) => {
  expect(parseReturnPath(address)).toBeUndefined()
})
