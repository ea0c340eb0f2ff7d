import { describe, expect, test } from 'vitest'
import { hashAddress, createEraser, createPseudonym } from '../../../appliance/mail/erasure.ts'

const eraser = createEraser('ada.l@bücher.example'.replace('bücher', 'xn--bcher-kva'), 'E@erased.invalid')

describe('the address eraser', () => {
  test.each([
    ['RCPT TO:<ada.l@xn--bcher-kva.example>', 'RCPT TO:<E@erased.invalid>'],
    ['Ada L <ADA.L@bücher.example>', 'E@erased.invalid'],
    ['/suppressions/ada.l%40xn--bcher-kva.example', '/suppressions/E@erased.invalid'],
    ['%3Cada.l%40xn--bcher-kva.example%3E', '%3CE@erased.invalid%3E'],
    ['to=ada.l@xn--bcher-kva.example.', 'to=E@erased.invalid.'],
    ['"x\\nada.l@xn--bcher-kva.example"', '"x\\nE@erased.invalid"'],
    ['not.ada.l@xn--bcher-kva.example', 'not.ada.l@xn--bcher-kva.example'],
    ['notada.l@xn--bcher-kva.example', 'notada.l@xn--bcher-kva.example'],
    ['ada.l@xn--bcher-kva.example.org', 'ada.l@xn--bcher-kva.example.org'],
    ['adaxl@xn--bcher-kva.example', 'adaxl@xn--bcher-kva.example'],
  ])('the eraser rewrites %j to %j', (text, hidden) => {
    expect(eraser.hide(text)).toBe(hidden)
    expect(eraser.finds(text)).toBe(text !== hidden)
  })

  test('removes the local part from server replies that concern only this recipient', () => {
    const reply = { code: 550, text: 'Ada.L: unknown, says ada.l@xn--bcher-kva.example', host: 'ada.l' }
    expect(eraser.hideIn({ reply }, true)).toEqual({
      reply: { code: 550, text: 'erased: unknown, says E@erased.invalid', host: 'ada.l' },
    })
    expect(eraser.hideIn({ reply }).reply.text).toBe('Ada.L: unknown, says E@erased.invalid')
  })
})

test('an address hash ignores case, and differs by team and key', () => {
  const key = Buffer.alloc(32, 1)
  const hash = hashAddress(key, 'team', 'Ada@x.example')
  expect(hash).toMatch(/^[0-9a-f]{64}$/)
  expect(hashAddress(key, 'team', 'ada@X.example')).toBe(hash)
  expect(hashAddress(key, 'other', 'ada@x.example')).not.toBe(hash)
  expect(hashAddress(Buffer.alloc(32, 2), 'team', 'ada@x.example')).not.toBe(hash)
  expect(createPseudonym(hash)).toBe(`erased-${hash.slice(0, 16)}@erased.invalid`)
})
