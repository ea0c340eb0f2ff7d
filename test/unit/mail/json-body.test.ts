import { expect, test } from 'vitest'
import { truncateTexts, MAX_TEXT_LENGTH } from '../../../appliance/mail/json-body.ts'

test('cutTexts truncates oversized texts at any depth to just above the limit, and changes nothing else', () => {
  const long = 'x'.repeat(MAX_TEXT_LENGTH + 1000)
  const most = 'x'.repeat(MAX_TEXT_LENGTH)
  const bytes = new Uint8Array(10)
  const body = JSON.parse('{"__proto__":"a","list":[],"n":1,"none":null}') as Record<string, unknown>
  Object.assign(body, { html: long, text: most, bytes })
  body.list = [{ csv: long }, 'a']
  const cut = truncateTexts(body) as {
    html: string
    text: string
    bytes: Uint8Array
    list: { csv: string }[]
  }
  expect(cut.html.length).toBe(MAX_TEXT_LENGTH + 1)
  expect(cut.list[0]!.csv.length).toBe(MAX_TEXT_LENGTH + 1)
  expect(cut.text).toBe(most)
  expect(cut.bytes).toBe(bytes)
  expect(Object.keys(cut)).toEqual(['__proto__', 'list', 'n', 'none', 'html', 'text', 'bytes'])
  expect((truncateTexts(long) as string).length).toBe(MAX_TEXT_LENGTH + 1)
})
