import { describe, expect, test } from 'vitest'
import { drawVariants } from '../../../appliance/mail/ab-draw.ts'
import { isSameEmail, variantContents } from '../../../appliance/mail/ab-content.ts'
import { choiceSentence, chooseWinner, isClear, type VariantCounts } from '../../../appliance/mail/ab-test.ts'
import type { BroadcastContent } from '../../../appliance/mail/broadcast.ts'

/** Tests who gets which variant of an A/B test, and which variant wins. */

const ids = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, n) => `contact-${String(from + n).padStart(6, '0')}`)
const of = (clicked: number, delivered: number): VariantCounts => ({
  sent: delivered,
  delivered,
  clicked,
  unsubscribed: 0,
  complained: 0,
})
const start = { seen: 0, tested: 0 }

describe('drawVariants', () => {
  const test20 = { broadcastId: 'b', share: 20, variants: 2 }

  test('draws the exact share, and deals the variants evenly', () => {
    const drawn = drawVariants(ids(1000), start, test20)
    expect(drawn).toHaveLength(200)
    expect(drawn.filter(({ variant }) => variant === 0)).toHaveLength(100)
    expect(new Set(drawn.map(({ contactId }) => contactId)).size).toBe(200)
  })

  test('draws the same again, whatever the order, and others for another broadcast', () => {
    const drawn = drawVariants(ids(100), start, test20)
    expect(drawVariants(ids(100).reverse(), start, test20)).toEqual(drawn)
    expect(drawVariants(ids(100), start, { ...test20, broadcastId: 'c' })).not.toEqual(drawn)
  })

  test('keeps the share and the turns across parts of any size', () => {
    const sizes = [7, 1, 0, 100, 33, 3, 856]
    let state = start
    const counts = [0, 0, 0]
    for (const size of sizes) {
      const drawn = drawVariants(ids(size, state.seen), state, { broadcastId: 'b', share: 30, variants: 3 })
      for (const { variant } of drawn) counts[variant]! += 1
      state = { seen: state.seen + size, tested: state.tested + drawn.length }
    }
    expect([state.tested, counts]).toEqual([300, [100, 100, 100]])
  })

  test('draws everybody with a share of 100, and may draw nobody of a few', () => {
    expect(drawVariants(ids(5), start, { ...test20, share: 100 })).toHaveLength(5)
    expect(drawVariants(ids(4), start, { ...test20, share: 10 })).toEqual([])
    expect(drawVariants([], start, test20)).toEqual([])
  })

  test('does not follow the order of the contacts', () => {
    const drawn = new Set(drawVariants(ids(1000), start, test20).map(({ contactId }) => contactId))
    const ofFirstHalf = ids(500).filter((id) => drawn.has(id)).length
    expect(ofFirstHalf).toBeGreaterThan(70)
    expect(ofFirstHalf).toBeLessThan(130)
  })
})

describe('chooseWinner', () => {
  test('chooses the highest rate, not the highest number', () => {
    expect(chooseWinner([of(30, 1000), of(29, 500)])).toMatchObject({ winner: 1, reason: 'clicks' })
  })

  test('chooses A when fewer than 10 people clicked', () => {
    expect(chooseWinner([of(1, 500), of(8, 500)])).toMatchObject({ winner: 0, reason: 'few' })
    expect(chooseWinner([of(1, 500), of(9, 500)])).toMatchObject({ winner: 1, reason: 'clicks' })
    expect(chooseWinner([of(0, 0), of(0, 0)])).toMatchObject({ winner: 0, reason: 'few' })
  })

  test('chooses the first of several with the same rate', () => {
    expect(chooseWinner([of(10, 500), of(10, 500)])).toMatchObject({ winner: 0, reason: 'tie' })
    expect(chooseWinner([of(2, 500), of(10, 500), of(20, 1000)])).toMatchObject({ winner: 1, reason: 'tie' })
  })

  test('ignores a variant that nobody received', () => {
    expect(chooseWinner([of(0, 0), of(12, 400)])).toMatchObject({ winner: 1, reason: 'clicks' })
  })
})

test('isClear reports whether a difference is larger than chance makes it', () => {
  expect(isClear([of(50, 1000), of(80, 1000)], 1)).toBe(true)
  expect(isClear([of(50, 1000), of(55, 1000)], 1)).toBe(false)
  expect(isClear([of(0, 0), of(55, 1000)], 1)).toBe(false)
  expect(isClear([of(0, 10), of(0, 10)], 0)).toBe(false)
})

test('choiceSentence says why, with the numbers', () => {
  const say = (...counts: VariantCounts[]) => choiceSentence(chooseWinner(counts))
  expect(say(of(50, 1000), of(80, 1000))).toBe(
    'Variant B has the highest rate of clicks. Clicks: A 50 of 1,000 (5.0%), B 80 of 1,000 (8.0%).',
  )
  expect(say(of(50, 1000), of(51, 1000))).toMatch(/ The difference is so small that it may be chance\.$/)
  expect(say(of(2, 10), of(5, 10))).toBe(
    'Fewer than 10 people clicked, which says too little. Variant A was chosen. Clicks: A 2 of 10 (20.0%), B 5 of 10 (50.0%).',
  )
  expect(say(of(10, 100), of(10, 100))).toMatch(
    /^The best variants have the same rate of clicks\. Variant A,/,
  )
  expect(choiceSentence({ winner: 2, reason: 'person', counts: [of(0, 0), of(0, 1), of(1, 2)] })).toBe(
    'Somebody chose variant C. Clicks: A 0 of 0, B 0 of 1 (0.0%), C 1 of 2 (50.0%).',
  )
})

test('variantContents fills what a variant does not change from A', () => {
  const content: BroadcastContent = {
    from: 'Ada <ada@example.com>',
    subject: 'News',
    replyTo: [],
    previewText: 'Read',
    html: '<p>Hi</p>',
    text: null,
  }
  const same = { fromName: null, subject: null, previewText: null, body: null }
  const body = { html: '<p>Ho</p>', text: '', document: null }
  const abTest = {
    share: 20,
    waitHours: 4,
    variants: [same, { ...same, fromName: 'Ada, Ltd.', subject: 'New' }, { ...same, previewText: '', body }],
  }
  const [a, b, c, d] = variantContents({ ...content, abTest })
  expect(a).toMatchObject(content)
  expect(b).toMatchObject(content)
  expect(c).toMatchObject({ from: '"Ada, Ltd." <ada@example.com>', subject: 'New', html: '<p>Hi</p>' })
  expect(d).toMatchObject({ subject: 'News', previewText: '', html: '<p>Ho</p>', text: '' })
  expect([isSameEmail(a!, b!), isSameEmail(a!, c!), isSameEmail(a!, d!)]).toEqual([true, false, false])
  expect(variantContents(content)).toEqual([content])
})
