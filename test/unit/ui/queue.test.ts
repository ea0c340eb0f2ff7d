import { describe, expect, test } from 'vitest'
import {
  computeAgeBars,
  canHoldNewMail,
  listFilterChips,
  parseQueueConditions,
  matchesEverything,
  isUndoable,
  formatDeliveryCount,
} from '../../../ui/src/state/queue.ts'

describe('the queue filter from the page address', () => {
  test('the queue filter contains only known, non-empty conditions', () => {
    const query = new URLSearchParams('domain=a.example&provider=&team_id=all&after=1&older_than=15m')
    expect(parseQueueConditions(query)).toEqual({ domain: 'a.example', team_id: 'all', older_than: '15m' })
  })

  test('shows conditions without a field of their own as chips', () => {
    expect(
      listFilterChips({ domain: 'a.example', team_id: 'all', category: 'quota', older_than: '15m' }),
    ).toEqual([
      { name: 'category', words: 'Category', value: 'quota' },
      { name: 'older_than', words: 'Older than', value: '15m' },
    ])
  })

  test('a queue filter with only a team matches everything', () => {
    expect([
      matchesEverything({}),
      matchesEverything({ team_id: 'all' }),
      matchesEverything({ domain: 'a.example' }),
    ]).toEqual([true, true, false])
  })

  test('only domain, provider, tag and team can be conditions to hold new mail', () => {
    expect(
      canHoldNewMail({ team_id: 'all', domain: 'a.example', provider: 'google', tag: 'kind=news' }),
    ).toBe(true)
    for (const name of ['older_than', 'reply', 'state', 'source', 'pool', 'id'])
      expect([name, canHoldNewMail({ domain: 'a.example', [name]: 'x' })]).toEqual([name, false])
  })
})

test('shows queue ages as bars on a common scale, with the conditions that select them', () => {
  const ages = [
    { from_minutes: 0, to_minutes: 15, count: 5 },
    { from_minutes: 15, to_minutes: 60, count: 20 },
    { from_minutes: 60, to_minutes: null, count: 0 },
  ]
  expect(computeAgeBars(ages)).toEqual([
    { words: 'under 15 min', count: 5, share: 0.25, conditions: { older_than: null, newer_than: '15m' } },
    { words: '15 min to 1 h', count: 20, share: 1, conditions: { older_than: '15m', newer_than: '60m' } },
    { words: 'over 1 h', count: 0, share: 0, conditions: { older_than: '60m', newer_than: null } },
  ])
})

test('only holding, releasing and rerouting can be undone', () => {
  const acts = ['hold', 'release', 'retry', 'reroute', 'expire', 'drop'].filter((one) =>
    isUndoable(`queue.${one}`),
  )
  expect(acts).toEqual(['hold', 'release', 'reroute'])
})

test('formats delivery counts with the right plural', () => {
  expect([formatDeliveryCount(0), formatDeliveryCount(1), formatDeliveryCount(1204)]).toEqual([
    '0 deliveries',
    '1 delivery',
    '1,204 deliveries',
  ])
})
