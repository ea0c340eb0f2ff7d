/** Describes how a segment has grown. Pure. */
import type { SegmentDays } from '../../../appliance/api/segment-reach.ts'
import { manyContacts } from './contacts.ts'

export interface Growth {
  /** The size on each day, oldest first; a day without one has that of the day before. */
  values: number[]
  words: string
}

/** Describes the sizes of a segment by day, such as `120 contacts more than on 2026-01-02`. */
export function growthOf(days: SegmentDays['days']): Growth {
  const values: number[] = []
  for (const { contacts } of days) values.push(contacts ?? values.at(-1) ?? 0)
  const known = days.filter(({ contacts }) => contacts !== null)
  const [first, last] = [known[0], known.at(-1)]
  if (!first || !last || first === last)
    return { values, words: 'Its growth appears here after a day. Sizes are recorded every hour.' }
  const more = (last.contacts ?? 0) - (first.contacts ?? 0)
  if (more === 0) return { values, words: `As many contacts as on ${first.date}` }
  const compared = more > 0 ? 'more' : 'fewer'
  return { values, words: `${manyContacts(Math.abs(more))} ${compared} than on ${first.date}` }
}
