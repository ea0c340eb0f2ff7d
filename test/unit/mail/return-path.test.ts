import { createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import {
  isSignedBy,
  createReturnPath,
  parseReturnPath,
  getReturnPathHost,
} from '../../../appliance/mail/return-path.ts'

const id = '019a1b2c-3d4e-7f60-8a9b-0c1d2e3f4a5b'
const key = { number: 11, secret: createSecretKey(new Uint8Array(32).fill(7)) }
const signed = (address: string): boolean => isSignedBy(key, parseReturnPath(address)!)

test('a return path contains the email, the key and the host that receives reports', () => {
  const path = createReturnPath(key, id, getReturnPathHost({ name: 'example.com', returnPath: 'send' }))
  expect(path).toMatch(/^bounce\+019a1b2c3d4e7f608a9b0c1d2e3f4a5b-b[0-9a-f]{20}@send\.example\.com$/)
  expect(path.indexOf('@')).toBe(61)
})

test('a return path is resolved to its email, even if a server changed its case', () => {
  const fresh = newId(1_790_000_000_000)
  const path = createReturnPath(key, fresh, 'send.example.com')
  for (const address of [path, path.toUpperCase()]) {
    expect(parseReturnPath(address)).toMatchObject({ emailId: fresh, host: 'send.example.com' })
    expect(signed(address)).toBe(true)
  }
})

test('a return path without a MAC is parsed but not trusted', () => {
  const old = 'bounce+019a1b2c3d4e7f608a9b0c1d2e3f4a5b@send.example.com'
  expect(parseReturnPath(old)).toEqual({ emailId: id, host: 'send.example.com', proof: null })
  expect(signed(old)).toBe(false)
})

test('a return path with a changed email, host, key or MAC digit fails verification', () => {
  const path = createReturnPath(key, id, 'send.example.com')
  const flip = (at: number) => `${path.slice(0, at)}${path[at] === '0' ? '1' : '0'}${path.slice(at + 1)}`
  for (let at = 'bounce+'.length; at < 61; at++)
    if (path[at] !== '-') expect([at, signed(flip(at))]).toEqual([at, false])
  expect(signed(path.replace('send.', 'post.'))).toBe(false)
  expect(
    isSignedBy({ ...key, secret: createSecretKey(new Uint8Array(32).fill(8)) }, parseReturnPath(path)!),
  ).toBe(false)
})

test.each([
  '',
  'bob@example.com',
  'bounce+@send.example.com',
  'bounce+zz@send.example.com',
  'bounce+019a1b2c3d4e7f608a9b0c1d2e3f4a5b-@send.example.com',
  'bounce+019a1b2c3d4e7f608a9b0c1d2e3f4a5b-b0123456789@send.example.com',
  `bounce+${id}@a@b`,
])('does not parse the address %j as a return path', (address) => {
  expect(parseReturnPath(address)).toBeUndefined()
})
