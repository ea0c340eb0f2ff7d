import { expect, test } from 'vitest'
import {
  decidePause,
  getComplaintWarning,
  listHeldProviders,
  explainHold,
  type RecentEmail,
} from '../../../appliance/mail/automatic-pause.ts'

/** The brakes of a broadcast: what stops all of it, and what stops one provider's part. */

const emails = (count: number, more: Partial<RecentEmail>): RecentEmail[] =>
  Array.from({ length: count }, () => ({
    provider: 'google',
    lastEvent: 'delivered',
    category: null,
    sentAt: 1000,
    ...more,
  }))
const NONE = { held: {}, pause: null }
const spam = { lastEvent: 'bounced', category: 'content' } as const

test('more than 5% bounces or 0.3% complaints pause a broadcast, above a minimum number', () => {
  const bounced = { lastEvent: 'bounced', category: 'recipient' } as const
  expect(decidePause([...emails(9, bounced), ...emails(10, {})], {})).toEqual(NONE)
  expect(decidePause([...emails(10, bounced), ...emails(190, {})], {})).toEqual(NONE)
  expect(decidePause([...emails(10, bounced), ...emails(189, {})], {})).toEqual({
    held: {},
    pause: { reason: 'bounces', figures: { count: 10, of: 199 } },
  })
  const complained = emails(4, { lastEvent: 'complained' })
  expect(decidePause([...complained.slice(1), ...emails(300, {})], {})).toEqual(NONE)
  expect(decidePause([...complained, ...emails(996, {})], {})).toMatchObject({
    pause: { reason: 'complaints', figures: { count: 4, of: 1000 } },
  })
})

test.each([
  ['a bounce about the content', spam],
  ['a bounce about the reputation', { lastEvent: 'bounced', category: 'reputation' }],
  ['a delay for the reputation', { lastEvent: 'delivery_delayed', category: 'reputation' }],
] as const)('more than 20%% refused by one provider hold its part alone: %s', (_, refused) => {
  const others = emails(100, { provider: 'yahoo' })
  expect(decidePause([...emails(10, refused), ...emails(40, {}), ...others], {})).toMatchObject({ held: {} })
  expect(decidePause([...emails(10, refused), ...emails(39, {}), ...others], {})).toEqual({
    held: { google: { count: 10, of: 49 } },
    pause: null,
  })
})

test('a full mailbox, greylisting or an unknown provider does not hold a provider', () => {
  const full = emails(30, { lastEvent: 'delivery_delayed', category: 'mailbox-full' })
  const grey = emails(30, { lastEvent: 'delivery_delayed', category: 'temporary' })
  const unknown = emails(30, { provider: '', lastEvent: 'delivery_delayed', category: 'reputation' })
  expect(decidePause([...full, ...grey, ...unknown], {})).toEqual(NONE)
})

test('emails to a held provider are not counted, and after a resume only new ones are', () => {
  const figures = { count: 10, of: 20 }
  const recent = [...emails(20, spam), ...emails(60, { provider: 'yahoo' })]
  const held = { google: { heldAt: 2000, figures, resumedAt: null } }
  expect(decidePause(recent, held)).toEqual(NONE)
  const resumed = { google: { heldAt: null, figures, resumedAt: 1500 } }
  expect(decidePause(recent, resumed)).toEqual(NONE)
  expect(decidePause([...recent, ...emails(10, { ...spam, sentAt: 1501 })], resumed)).toMatchObject({
    held: { google: { count: 10, of: 10 } },
  })
  expect([listHeldProviders(held), listHeldProviders(resumed)]).toEqual([['google'], []])
})

test('warns of complaints above 0.1% of delivered emails, but not of a single one', () => {
  expect(getComplaintWarning({})).toBeNull()
  expect(getComplaintWarning({ delivered: 9, complained: 1 })).toBeNull()
  expect(getComplaintWarning({ delivered: 1990, opened: 8, complained: 2 })).toBeNull()
  expect(getComplaintWarning({ delivered: 1195, clicked: 2, complained: 3, bounced: 900 })).toBe(
    '3 of 1,200 delivered emails were reported as spam (0.25%). Mailbox providers ask for less than 0.1%. Above 0.3% of the last 1,000, Posthaste pauses the broadcast.',
  )
})

test('the reason contains the provider and the numbers', () => {
  expect(explainHold('google', { count: 24, of: 60 })).toBe(
    'google refused 24 of the last 60 emails as spam or because of your reputation. Only its recipients wait.',
  )
})
