import { describe, expect, test } from 'vitest'
import {
  ageBars,
  canHoldNew,
  chipsOf,
  conditionsIn,
  isEverything,
  isUndoable,
  many,
} from '../../../ui/src/state/queue.ts'

describe('the conditions in the address', () => {
  test('are those that the queue knows, without empty ones', () => {
    const query = new URLSearchParams('domain=a.example&provider=&team_id=all&after=1&older_than=15m')
    expect(conditionsIn(query)).toEqual({ domain: 'a.example', team_id: 'all', older_than: '15m' })
  })

  test('without a field of their own are chips', () => {
    expect(chipsOf({ domain: 'a.example', team_id: 'all', category: 'quota', older_than: '15m' })).toEqual([
      { name: 'category', words: 'Category', value: 'quota' },
      { name: 'older_than', words: 'Older than', value: '15m' },
    ])
  })

  test('name everything when they only say whose mail', () => {
    expect([
      isEverything({}),
      isEverything({ team_id: 'all' }),
      isEverything({ domain: 'a.example' }),
    ]).toEqual([...[true, true, false]])
  })

  test('measure new mail by domain, provider, tag and team only', () => {
    expect(canHoldNew({ team_id: 'all', domain: 'a.example', provider: 'google', tag: 'kind=news' })).toBe(
      true,
    )
    for (const name of ['older_than', 'reply', 'state', 'source', 'pool', 'id'])
      expect([name, canHoldNew({ domain: 'a.example', [name]: 'x' })]).toEqual([name, false])
  })
})

test('ages are bars of a common length, with the conditions that name them', () => {
  const ages = [
    { from_minutes: 0, to_minutes: 15, count: 5 },
    { from_minutes: 15, to_minutes: 60, count: 20 },
    { from_minutes: 60, to_minutes: null, count: 0 },
  ]
  expect(ageBars(ages)).toEqual([
    { words: 'under 15 min', count: 5, share: 0.25, conditions: { older_than: null, newer_than: '15m' } },
    { words: '15 min to 1 h', count: 20, share: 1, conditions: { older_than: '15m', newer_than: '60m' } },
    { words: 'over 1 h', count: 0, share: 0, conditions: { older_than: '60m', newer_than: null } },
  ])
})

test('what can be undone is what the appliance takes back', () => {
  const acts = ['hold', 'release', 'retry', 'reroute', 'expire', 'drop'].filter((one) =>
    isUndoable(`queue.${one}`),
  )
  expect(acts).toEqual(['hold', 'release', 'reroute'])
})

test('deliveries are counted in words', () => {
  expect([many(0), many(1), many(1204)]).toEqual(['0 deliveries', '1 delivery', '1,204 deliveries'])
})
