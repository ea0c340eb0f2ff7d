import { expect, test } from 'vitest'
import { computeGrowth } from '../../../ui/src/state/contacts.ts'

const days = (...sizes: (number | null)[]) =>
  sizes.map((contacts, at) => ({ date: `2026-01-0${at + 1}`, contacts }))

test.each([
  [[null, 5, null, 12], [0, 5, 5, 12], '7 contacts more than on 2026-01-02'],
  [[3, 2], [3, 2], '1 contact fewer than on 2026-01-01'],
  [[4, 9, 4], [4, 9, 4], 'As many contacts as on 2026-01-01'],
  [[null, 8], [0, 8], 'Its growth appears here after a day. Sizes are recorded every hour.'],
  [[null, null], [0, 0], 'Its growth appears here after a day. Sizes are recorded every hour.'],
])('describes the growth of a segment with sizes %j', (sizes, values, words) => {
  expect(computeGrowth(days(...sizes))).toEqual({ values, words })
})
