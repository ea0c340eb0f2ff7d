import { describe, expect, test } from 'vitest'
import {
  destinationOf,
  destinationOfQueue,
  formatQueue,
  isUnplaced,
  unplaced,
  type QueueName,
} from '../../../appliance/mail/queue.ts'
import { streamOf } from '../../../appliance/mail/stream.ts'

describe('a queue name', () => {
  test.each([
    [{ pool: 'default', provider: 'google', stream: 'transactional', teamId: '7' }, 'default/google/t/7'],
    [{ pool: 'slow', provider: '?x.example', stream: 'broadcast', teamId: 'a-b' }, 'slow/?x.example/b/a-b'],
  ] satisfies [QueueName, string][])('for %o is %s, and yields its destination', (name, text) => {
    expect(formatQueue(name)).toBe(text)
    expect(destinationOfQueue(text)).toBe(destinationOf(name))
  })

  test('a domain without a known provider is its own provider', () => {
    expect(unplaced('x.example')).toBe('?x.example')
    expect([isUnplaced('?x.example'), isUnplaced('x.example')]).toEqual([true, false])
  })
})

describe('the stream of an email', () => {
  const field = (name: string, value: string) => ({ name, value })
  test.each([
    [[], 'transactional'],
    [[field('Subject', 'bulk')], 'transactional'],
    [[field('List-ID', '<news.example.com>')], 'broadcast'],
    [[field('list-unsubscribe', '<https://example.com/u>')], 'broadcast'],
    [[field('Precedence', ' Bulk ')], 'broadcast'],
    [[field('Precedence', 'list')], 'broadcast'],
    [[field('Precedence', 'first-class')], 'transactional'],
    [[field('X-Posthaste-Stream', 'Broadcast')], 'broadcast'],
    [[field('List-Id', '<a.b>'), field('x-posthaste-stream', ' transactional ')], 'transactional'],
    [[field('X-Posthaste-Stream', 'broadcast'), field('X-Posthaste-Stream', 'broadcast')], 'broadcast'],
    [[field('X-Posthaste-Stream', 'broadcast'), field('X-Posthaste-Stream', 'transactional')], undefined],
    [[field('X-Posthaste-Stream', 'marketing')], undefined],
    [[field('X-Posthaste-Stream', '')], undefined],
  ] as const)('for headers %j is %s', (fields, stream) => {
    expect(streamOf(fields)).toBe(stream)
  })
})
