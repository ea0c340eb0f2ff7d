import { describe, expect, test } from 'vitest'
import { parseMailboxList, parseSingleMailbox } from '../../../appliance/mime/addresses.ts'
import { costOf } from '../../world/cost.ts'

describe('the single From mailbox', () => {
  test.each([
    ['bob@acme.example', ''],
    ['bob@acme.example (Cron Daemon)', ''],
    ['(Cron Daemon) bob@acme.example', ''],
    ['Bob (Sales) <bob@acme.example>', 'Bob'],
    ['Bob <bob@acme.example> (Sales)', 'Bob'],
    ['"Bob (Sales)" <bob@acme.example>', 'Bob (Sales)'],
    ['"a (b@other.example) c" <bob@acme.example>', 'a (b@other.example) c'],
  ])('reads the mailbox from %s', (value, name) => {
    expect(parseSingleMailbox(value)).toMatchObject({ address: 'bob@acme.example', name })
  })

  test.each([
    'a(<b@other.example>)@acme.example',
    'a(b)@acme.example',
    'a@(b)acme.example',
    'a@acme(b).example',
    '<a(b)@acme.example>',
    'Bob <(b@other.example)a@acme.example>',
    'Bob <a@acme.example(b)>',
    'a@acme.example (<b@other.example>)',
    'Bob (<b@other.example>) <a@acme.example>',
    '(<) b@other.example (>) a@acme.example',
    `${'()'.repeat(11)} a@acme.example`,
  ])('rejects a mailbox with a comment that could be mistaken for an address: %s', (value) => {
    expect(parseSingleMailbox(value)).toBeUndefined()
  })

  test('parses a mailbox with 85,000 comments quickly', async () => {
    const cost = await costOf(() => {
      expect(parseSingleMailbox(`${'a()'.repeat(85_000)}@acme.example`)).toBeUndefined()
    })
    expect(cost).toBeLessThan(500)
  })
})

test('omits comments from a displayed address list', () => {
  const values = ['a@acme.example (Ann), b(<x@other.example>)@acme.example', 'Cy (Sales) <c@acme.example>']
  expect(parseMailboxList(values, 10).map(({ address }) => address)).toEqual([
    'a@acme.example',
    'b@acme.example',
    'c@acme.example',
  ])
})
