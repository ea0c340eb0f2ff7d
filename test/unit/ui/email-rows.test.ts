import { describe, expect, test } from 'vitest'
import type { EmailSearch, FoundEmail } from '../../../appliance/api/email-search.ts'
import {
  appendChunk,
  prependRows,
  findRowIndex,
  refreshRows,
  findRow,
} from '../../../ui/src/state/email-rows.ts'

/** A row, of which only its id and subject matter here. */
const row = (id: string, subject = '') => ({ id, subject }) as FoundEmail
const rows = (ids: string): FoundEmail[] => [...ids].map((id) => row(id))
const ids = (some: readonly FoundEmail[]): string => some.map(({ id }) => id).join('')
const found = (data: FoundEmail[], next: string | null = null): EmailSearch =>
  ({ data, next, looked_back_to: null }) as EmailSearch
const loaded = (some: string) => ({ rows: rows(some), next: 'a', lookedBackTo: null })

describe('email rows, newest first', () => {
  test('finds a row by ID, or the insertion position of a missing ID', () => {
    expect([...'zfedba'].map((id) => findRowIndex(rows('fdb'), id))).toEqual([0, 0, 1, 1, 2, 3])
    expect(findRow(rows('fdb'), 'd')?.id).toBe('d')
    expect(findRow(rows('fdb'), 'e')).toBeUndefined()
    expect(findRow([], 'e')).toBeUndefined()
  })

  test('appends the next page to the rows', () => {
    const { rows: all, next } = appendChunk(rows('fe'), found(rows('dc'), 'c'))
    expect([ids(all), next]).toEqual(['fedc', 'c'])
  })

  test('replaces rows with reloaded ones, and ignores unknown rows', () => {
    const before = rows('fdb')
    const after = refreshRows(before, [row('d', 'new'), row('c', 'unknown')])
    expect(after.map(({ id, subject }) => id + subject)).toEqual(['f', 'dnew', 'b'])
    expect(before[1]!.subject).toBe('')
    expect(refreshRows(before, [row('c')])).toBe(before)
  })
})

describe('new email rows', () => {
  test('new rows come before known ones, each once', () => {
    expect(ids(prependRows(loaded('dcb'), found(rows('fed'), 'd')).rows)).toBe('fedcb')
    expect(ids(prependRows(loaded('dcb'), found(rows('fe'))).rows)).toBe('fedcb')
  })

  test('changes nothing if all rows are known or there are none', () => {
    expect(ids(prependRows(loaded('dcb'), found(rows('dc'), 'c')).rows)).toBe('dcb')
    expect(ids(prependRows(loaded('dcb'), found([])).rows)).toBe('dcb')
  })

  test('new rows replace the known ones if there is a gap between them', () => {
    const all = prependRows(loaded('dcb'), found(rows('zy'), 'y'))
    expect([ids(all.rows), all.next]).toEqual(['zy', 'y'])
  })
})
