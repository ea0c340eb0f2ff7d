import { describe, expect, test } from 'vitest'
import type { EmailSearch, FoundEmail } from '../../../appliance/api/email-search.ts'
import { afterPart, merged, placeOf, renewed, rowOf } from '../../../ui/src/state/email-rows.ts'

/** A row, of which only its id and subject matter here. */
const row = (id: string, subject = '') => ({ id, subject }) as FoundEmail
const rows = (ids: string): FoundEmail[] => [...ids].map((id) => row(id))
const ids = (some: readonly FoundEmail[]): string => some.map(({ id }) => id).join('')
const found = (data: FoundEmail[], next: string | null = null): EmailSearch =>
  ({ data, next, looked_back_to: null }) as EmailSearch
const loaded = (some: string) => ({ rows: rows(some), next: 'a', lookedBackTo: null })

describe('email rows, newest first', () => {
  test('are found by ID, and a missing ID has an insertion position', () => {
    expect([...'zfedba'].map((id) => placeOf(rows('fdb'), id))).toEqual([0, 0, 1, 1, 2, 3])
    expect(rowOf(rows('fdb'), 'd')?.id).toBe('d')
    expect(rowOf(rows('fdb'), 'e')).toBeUndefined()
    expect(rowOf([], 'e')).toBeUndefined()
  })

  test('grow at the end by the next page', () => {
    const { rows: all, next } = afterPart(rows('fe'), found(rows('dc'), 'c'))
    expect([ids(all), next]).toEqual(['fedc', 'c'])
  })

  test('are replaced by reloaded ones, and unknown rows are ignored', () => {
    const before = rows('fdb')
    const after = renewed(before, [row('d', 'new'), row('c', 'unknown')])
    expect(after.map(({ id, subject }) => id + subject)).toEqual(['f', 'dnew', 'b'])
    expect(before[1]!.subject).toBe('')
    expect(renewed(before, [row('c')])).toBe(before)
  })
})

describe('new email rows', () => {
  test('come before known ones, each once', () => {
    expect(ids(merged(loaded('dcb'), found(rows('fed'), 'd')).rows)).toBe('fedcb')
    expect(ids(merged(loaded('dcb'), found(rows('fe'))).rows)).toBe('fedcb')
  })

  test('change nothing if all are known or there are none', () => {
    expect(ids(merged(loaded('dcb'), found(rows('dc'), 'c')).rows)).toBe('dcb')
    expect(ids(merged(loaded('dcb'), found([])).rows)).toBe('dcb')
  })

  test('replace the known ones if there is a gap between them', () => {
    const all = merged(loaded('dcb'), found(rows('zy'), 'y'))
    expect([ids(all.rows), all.next]).toEqual(['zy', 'y'])
  })
})
