/** The counters that events increment in the roll-ups by tag, and which tags are counted separately. Pure. */
import { getBounceCategoryCounter } from '../../mail/event.ts'
import type { Tag } from '../emails.ts'
import { startOfQuarterHour, SUM_LENGTHS } from './counters.ts'

/** Number that events add to a counter of a roll-up by tag. */
export interface TagCount {
  teamId: string
  /** Start of the quarter hour. */
  at: number
  domainId: string
  /** Empty if the event is about several recipients. */
  provider: string
  /** `name:value`; empty for tags that are counted together. */
  tag: string
  counter: string
  n: number
}

/**
 * Maximum number of names that are counted separately on a UTC day, and of values per name. The first ones are counted
 * separately, all others together.
 */
export const MAX_TAGS_PER_DAY = { names: 20, values: 100 } as const

/** Length of a UTC day in milliseconds. */
export const [, DAY] = SUM_LENGTHS.all

/** Returns the start of the UTC day that contains a time. */
export const startOfDay = (at: number): number => Math.floor(at / DAY) * DAY

/** An event of an email that has tags. */
export interface TaggedEvent {
  teamId: string
  createdAt: number
  domainId: string
  provider: string
  /** Counter names separated by spaces. */
  counted: string
  amount: number
  tags: readonly Tag[]
}

/** The sum of a counter for a day. */
export interface TagDay {
  dimension: 'all' | 'domain' | 'provider'
  /** Midnight (UTC). */
  at: number
  teamId: string
  /** The domain or provider; empty for the sum of all. */
  value: string
  tag: string
  counter: string
  n: number
}

/** A tag that is counted separately on a day. */
export interface EventTag {
  teamId: string
  /** Midnight (UTC). */
  day: number
  tag: string
}

const ABOUT = getBounceCategoryCounter('')

/** Returns the counters of an event except bounce categories, which aren't counted by tag. */
const countersIn = (counted: string): string[] =>
  counted.split(' ').filter((counter) => counter !== '' && !counter.startsWith(ABOUT))

/** Formats tags as the search for emails does, without duplicates. */
const tagsOf = (tags: readonly Tag[]): string[] => [
  ...new Set(tags.map(({ name, value }) => `${name}:${value}`)),
]

/** Returns how many events, counted from the first, add at most `most` numbers in total; at least one. */
export function countAffordableEvents(events: readonly TaggedEvent[], most: number): number {
  let numbers = 0
  const end = events.findIndex(({ tags, counted }, i) => {
    numbers += tags.length * countersIn(counted).length
    return numbers > most && i > 0
  })
  return end < 0 ? events.length : end
}

/**
 * Creates the function that decides which tags are counted separately, up to each day's limit. It remembers its decisions.
 */
function createTeller(told: readonly EventTag[]): (teamId: string, day: number, tag: string) => string {
  const days = new Map<string, Map<string, Set<string>>>()
  const nameOf = (tag: string) => tag.slice(0, tag.indexOf(':'))
  const namesOf = (teamId: string, day: number) => {
    const key = `${teamId} ${day}`
    const names = days.get(key) ?? new Map<string, Set<string>>()
    days.set(key, names)
    return names
  }
  for (const { teamId, day, tag } of told) {
    const names = namesOf(teamId, day)
    names.set(nameOf(tag), (names.get(nameOf(tag)) ?? new Set()).add(tag))
  }
  return (teamId, day, tag) => {
    const names = namesOf(teamId, day)
    const name = nameOf(tag)
    const values = names.get(name)
    if (values?.has(tag)) return tag
    if (values ? values.size >= MAX_TAGS_PER_DAY.values : names.size >= MAX_TAGS_PER_DAY.names) return ''
    names.set(name, (values ?? new Set()).add(tag))
    return tag
  }
}

/** Merges items with the same key by adding up their numbers. */
function addUp<T extends { n: number }>(rows: Iterable<T>, keyOf: (row: T) => string): T[] {
  const sums = new Map<string, T>()
  for (const row of rows) {
    const known = sums.get(keyOf(row))
    if (known) known.n += row.n
    else sums.set(keyOf(row), row)
  }
  return [...sums.values()]
}

/** Returns the key of a quarter hour's row. */
export const getTagCountKey = ({ teamId, at, domainId, provider, tag, counter }: TagCount): string =>
  `${teamId} ${at} ${domainId} ${provider} ${tag} ${counter}`

/** Returns the key of a day's row. */
export const getTagDayKey = ({ teamId, at, dimension, value, tag, counter }: TagDay): string =>
  `${teamId} ${at} ${dimension} ${value} ${tag} ${counter}`

/**
 * Computes what events add to the quarter hours.
 * @param events in the order in which they were stored, because it decides which tags are counted separately
 * @param told tags that are already counted separately on those days
 */
export function countTags(events: readonly TaggedEvent[], told: readonly EventTag[]): TagCount[] {
  const tell = createTeller(told)
  const counts = events.flatMap(({ teamId, createdAt, domainId, provider, counted, amount, tags }) =>
    tagsOf(tags).flatMap((one) => {
      const tag = tell(teamId, startOfDay(createdAt), one)
      const about = { teamId, at: startOfQuarterHour(createdAt), domainId, provider, tag }
      return countersIn(counted).map((counter) => ({ ...about, counter, n: amount }))
    }),
  )
  return addUp(counts, getTagCountKey)
}

/** Computes what quarter hours add to their days: in total, by domain and, if known, by provider. */
export function sumTagDays(counts: readonly TagCount[]): TagDay[] {
  const days = counts.flatMap(({ teamId, at, domainId, provider, tag, counter, n }): TagDay[] => {
    const about = { teamId, at: startOfDay(at), tag, counter, n }
    return [
      { ...about, dimension: 'all', value: '' },
      { ...about, dimension: 'domain', value: domainId },
      ...(provider === '' ? [] : [{ ...about, dimension: 'provider' as const, value: provider }]),
    ]
  })
  return addUp(days, getTagDayKey)
}

/** Returns how many numbers differ. */
export function countDifferences<T extends { n: number }>(
  is: readonly T[],
  should: readonly T[],
  keyOf: (row: T) => string,
): number {
  const numbers = (rows: readonly T[]) => new Map(rows.map((row) => [keyOf(row), row.n]))
  const [a, b] = [numbers(is), numbers(should)]
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).length
}
