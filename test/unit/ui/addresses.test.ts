import { describe, expect, test } from 'vitest'
import { extractAddresses, chunk, listRecipientDomains } from '../../../ui/src/state/addresses.ts'

describe('pasted addresses', () => {
  test('parses addresses from lines, and from lists with commas and semicolons', () => {
    expect(extractAddresses(' a@example.org \r\n\nb@example.org, c@example.org;d@example.org\n')).toEqual({
      addresses: ['a@example.org', 'b@example.org', 'c@example.org', 'd@example.org'],
      strange: [],
    })
  })

  test('removes display names, including names with a comma', () => {
    expect(extractAddresses('"Lovelace, Ada" <ada@example.org>, Grace Hopper <grace@example.org>')).toEqual({
      addresses: ['ada@example.org', 'grace@example.org'],
      strange: [],
    })
  })

  test('includes each address once, ignoring case', () => {
    expect(extractAddresses('Ada@Example.org\nada@example.org').addresses).toEqual(['Ada@Example.org'])
  })

  test('excludes and reports invalid entries', () => {
    const long = `${'a'.repeat(250)}@example.org`
    expect(extractAddresses(`email\nnobody\na@b@c\nada@example.org\n${long}`)).toEqual({
      addresses: ['ada@example.org'],
      strange: ['email', 'nobody', 'a@b@c', long],
    })
  })
})

test('splits a list into chunks of a given size', () => {
  expect(chunk([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]])
  expect(chunk([], 100)).toEqual([])
})

test('lists each recipient domain once, with and without display names', () => {
  const emails = [
    { to: ['Ada <ada@B.example>', 'bob@a.example'] },
    { to: ['eve@b.example', 'undisclosed-recipients:;'] },
    { to: [] },
  ]
  expect(listRecipientDomains(emails)).toEqual(['a.example', 'b.example'])
})
