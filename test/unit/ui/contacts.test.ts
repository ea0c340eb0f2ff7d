import { describe, expect, test } from 'vitest'
import type { ContactConsent } from '../../../appliance/api/contact-details.ts'
import {
  describeConsent,
  buildContactTimeline,
  formatExamples,
  parseContactFilter,
  getLastOpenOrClick,
  parsePropertyValue,
  describeUses,
} from '../../../ui/src/state/contacts.ts'

const consent = (more: Partial<ContactConsent>): ContactConsent => ({
  id: 'c',
  topic_id: null,
  was: null,
  subscription: 'opt_out',
  origin: 'person',
  via: 'one_click',
  source_id: null,
  ip: null,
  user_agent: null,
  wording_id: null,
  created_at: '2026-01-02T00:00:00Z',
  ...more,
})

test('describes a subscription change in a sentence', () => {
  expect(describeConsent(consent({}), undefined)).toBe(
    'Unsubscribed by the contact with one click in their mail app',
  )
  const topic = consent({ topic_id: 't', subscription: 'opt_in', origin: 'operator', via: 'dashboard' })
  expect(describeConsent(topic, 'News')).toBe('Subscribed to News by a team member')
  expect(describeConsent(topic, undefined)).toBe('Subscribed to a deleted topic by a team member')
})

test('emails and subscription changes form one timeline, newest first', () => {
  const email = {
    id: 'e',
    subject: '',
    created_at: '2026-01-03T00:00:00Z',
    last_event: 'delivered' as const,
    opened: true,
    clicked: false,
  }
  const story = buildContactTimeline([email], [consent({})], [], [])
  expect(story.map(({ key, title, note }) => [key, title, note])).toEqual([
    ['e', '(no subject)', 'opened'],
    ['c', 'Unsubscribed by the contact with one click in their mail app', ''],
  ])
  expect(story[0]?.email).toEqual({ id: 'e', event: 'delivered' })
})

test('the last engagement is the later of open and click', () => {
  const engaged = (opened: string | null, clicked: string | null) =>
    getLastOpenOrClick({ last_opened_at: opened, last_clicked_at: clicked })
  const [early, late] = ['2026-01-02 03:04:05.678901+00', '2026-02-02 03:04:05.678901+00']
  expect(engaged(null, null)).toBeNull()
  expect(engaged(late, early)).toEqual({ did: 'Opened', at: late })
  expect(engaged(early, late)).toEqual({ did: 'Clicked', at: late })
  expect(engaged(null, early)).toEqual({ did: 'Clicked', at: early })
  expect([formatExamples([]), formatExamples(['pro', 7])]).toEqual(['none', 'pro, 7'])
})

test('counts the uses of a property by kind', () => {
  const many = (object: Parameters<typeof describeUses>[0][number]['object'], n: number) =>
    Array.from({ length: n }, () => ({ object }))
  expect(describeUses([])).toBe('nothing')
  expect(describeUses([...many('segment', 1), ...many('template', 2)])).toBe('2 templates, 1 segment')
  expect(describeUses([...many('broadcast', 20), ...many('template', 1)])).toBe('1 template, 20+ drafts')
  expect(describeUses([...many('automation', 2), ...many('form', 1)])).toBe('1 form, 2 automations')
})

const rule = (field: string, operator: string, value?: string | number) => ({
  type: 'rule',
  field: `contact.${field}`,
  operator,
  ...(value !== undefined && { value }),
})

describe('the contact filter from the page address', () => {
  test.each([
    ['', {}],
    ['q=ada&status=unsubscribed', { text: 'ada', unsubscribed: true }],
    ['status=subscribed&segment=s', { segment_id: 's', unsubscribed: false }],
    ['topic=t', { topic_id: 't', subscription: 'opt_in' }],
    ['topic=t&choice=opt_out', { topic_id: 't', subscription: 'opt_out' }],
    ['status=strange&choice=opt_out', {}],
    ['added=7', { rules: rule('created_at', 'gte', '7 days ago') }],
    ['added=before-365', { rules: rule('created_at', 'lt', '365 days ago') }],
    ['added=x&engaged=x&property=plan&is=eq', {}],
    [
      'engaged=30',
      {
        rules: {
          type: 'or',
          rules: [
            rule('last_opened_at', 'gte', '30 days ago'),
            rule('last_clicked_at', 'gte', '30 days ago'),
          ],
        },
      },
    ],
    [
      'engaged=never&property=seats&kind=number&is=gt&value=3',
      {
        rules: {
          type: 'and',
          rules: [
            {
              type: 'and',
              rules: [rule('last_opened_at', 'is_empty'), rule('last_clicked_at', 'is_empty')],
            },
            rule('properties.seats', 'gt', 3),
          ],
        },
      },
    ],
    ['property=plan', { rules: rule('properties.plan', 'exists') }],
  ])('reads the contact filter from the query “%s”', (query, filter) => {
    expect(parseContactFilter(new URLSearchParams(query))).toEqual(filter)
  })

  test('the contact filter is fixed to the segment on a segment page', () => {
    expect(parseContactFilter(new URLSearchParams('segment=other'), 'own')).toEqual({ segment_id: 'own' })
  })
})

test('parses a property value by its type', () => {
  expect(parsePropertyValue({ key: 'points', type: 'number' }, ' 1.5 ')).toBe(1.5)
  expect(parsePropertyValue({ key: 'points', type: 'number' }, ' ')).toBeNull()
  expect(parsePropertyValue({ key: 'plan', type: 'string' }, ' 12 ')).toBe('12')
  expect(() => parsePropertyValue({ key: 'points', type: 'number' }, 'many')).toThrow(
    'points must be a number.',
  )
})
