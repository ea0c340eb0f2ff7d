import { describe, expect, test } from 'vitest'
import { pastedAddresses, pieces, recipientDomains } from '../../../ui/src/state/addresses.ts'

describe('pasted addresses', () => {
  test('are read from lines and from lists with commas and semicolons', () => {
    expect(pastedAddresses(' a@example.org \r\n\nb@example.org, c@example.org;d@example.org\n')).toEqual({
      addresses: ['a@example.org', 'b@example.org', 'c@example.org', 'd@example.org'],
      strange: [],
    })
  })

  test('lose their display names, including names with a comma', () => {
    expect(pastedAddresses('"Lovelace, Ada" <ada@example.org>, Grace Hopper <grace@example.org>')).toEqual({
      addresses: ['ada@example.org', 'grace@example.org'],
      strange: [],
    })
  })

  test('are included once, ignoring case', () => {
    expect(pastedAddresses('Ada@Example.org\nada@example.org').addresses).toEqual(['Ada@Example.org'])
  })

  test('exclude invalid entries, which are reported', () => {
    const long = `${'a'.repeat(250)}@example.org`
    expect(pastedAddresses(`email\nnobody\na@b@c\nada@example.org\n${long}`)).toEqual({
      addresses: ['ada@example.org'],
      strange: ['email', 'nobody', 'a@b@c', long],
    })
  })
})

test('a list is split into chunks of a given size', () => {
  expect(pieces([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]])
  expect(pieces([], 100)).toEqual([])
})

test('recipient domains are listed once each, with and without display names', () => {
  const emails = [
    { to: ['Ada <ada@B.example>', 'bob@a.example'] },
    { to: ['eve@b.example', 'undisclosed-recipients:;'] },
    { to: [] },
  ]
  expect(recipientDomains(emails)).toEqual(['a.example', 'b.example'])
})
