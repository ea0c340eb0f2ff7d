import { describe, expect, test } from 'vitest'
import {
  formatDestination,
  getQueueDestination,
  formatQueueName,
  isProviderPlaceholder,
  toProviderPlaceholder,
  type QueueNameParts,
} from '../../../appliance/mail/queue.ts'
import { determineStream } from '../../../appliance/mail/stream.ts'

describe('a queue name', () => {
  test.each([
    [{ pool: 'default', provider: 'google', stream: 'transactional', teamId: '7' }, 'default/google/t/7'],
    [{ pool: 'slow', provider: '?x.example', stream: 'broadcast', teamId: 'a-b' }, 'slow/?x.example/b/a-b'],
  ] satisfies [QueueNameParts, string][])('for %o is %s, and yields its destination', (name, text) => {
    expect(formatQueueName(name)).toBe(text)
    expect(getQueueDestination(text)).toBe(formatDestination(name))
  })

  test('a domain without a known provider is its own provider', () => {
    expect(toProviderPlaceholder('x.example')).toBe('?x.example')
    expect([isProviderPlaceholder('?x.example'), isProviderPlaceholder('x.example')]).toEqual([true, false])
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
    expect(determineStream(fields)).toBe(stream)
  })
})
