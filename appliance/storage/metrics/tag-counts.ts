/** What events add to the roll-ups by tag, and which tags are told apart. Pure. */
import { bouncedAbout } from '../../mail/counted.ts'
import type { Tag } from '../emails.ts'
import { quarterOf, SUMMED } from './counters.ts'

/** What events add to a roll-up by tag. */
export interface TagCount {
  teamId: string
  /** Start of the quarter of an hour. */
  at: number
  domainId: string
  /** Empty where the event is about several recipients. */
  provider: string
  /** `name:value`; empty for those that are not told apart. */
  tag: string
  counter: string
  n: number
}

/** Tags that are told apart on a day of UTC, the first that come: of so many names, and so many values of each. The others are counted together. */
export const TAGS_A_DAY = { names: 20, values: 100 } as const

/** A day of UTC in milliseconds. */
export const [, DAY] = SUMMED.all

/** Midnight (UTC) before an instant. */
export const dayOf = (at: number): number => Math.floor(at / DAY) * DAY

/** An event of an email that has tags. */
export interface TaggedEvent {
  teamId: string
  createdAt: number
  domainId: string
  provider: string
  /** Names of counters with spaces between. */
  counted: string
  amount: number
  tags: readonly Tag[]
}

/** A sum of a day. */
export interface TagDay {
  dimension: 'all' | 'domain' | 'provider'
  /** Midnight (UTC). */
  at: number
  teamId: string
  /** The domain or provider; empty for all. */
  value: string
  tag: string
  counter: string
  n: number
}

/** A tag that is told apart on a day. */
export interface ToldTag {
  teamId: string
  /** Midnight (UTC). */
  day: number
  tag: string
}

const ABOUT = bouncedAbout('')

/** What bounces were about is not told by tag. */
const countersIn = (counted: string): string[] =>
  counted.split(' ').filter((counter) => counter !== '' && !counter.startsWith(ABOUT))

/** As the search for emails writes it. An email that has a tag twice has it once. */
const tagsOf = (tags: readonly Tag[]): string[] => [
  ...new Set(tags.map(({ name, value }) => `${name}:${value}`)),
]

/** How many of the events, from the first on, add at most `most` numbers; one at least. */
export function affordable(events: readonly TaggedEvent[], most: number): number {
  let numbers = 0
  const end = events.findIndex(({ tags, counted }, i) => {
    numbers += tags.length * countersIn(counted).length
    return numbers > most && i > 0
  })
  return end < 0 ? events.length : end
}

/** Tells tags apart until there are too many; remembers those of each day. */
function createTeller(told: readonly ToldTag[]): (teamId: string, day: number, tag: string) => string {
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
    if (values ? values.size >= TAGS_A_DAY.values : names.size >= TAGS_A_DAY.names) return ''
    names.set(name, (values ?? new Set()).add(tag))
    return tag
  }
}

/** Adds up what has the same key. */
function addUp<T extends { n: number }>(rows: Iterable<T>, keyOf: (row: T) => string): T[] {
  const sums = new Map<string, T>()
  for (const row of rows) {
    const known = sums.get(keyOf(row))
    if (known) known.n += row.n
    else sums.set(keyOf(row), row)
  }
  return [...sums.values()]
}

/** The key of a quarter's row. */
export const keyOfCount = ({ teamId, at, domainId, provider, tag, counter }: TagCount): string =>
  `${teamId} ${at} ${domainId} ${provider} ${tag} ${counter}`

/** The key of a day's row. */
export const keyOfDay = ({ teamId, at, dimension, value, tag, counter }: TagDay): string =>
  `${teamId} ${at} ${dimension} ${value} ${tag} ${counter}`

/**
 * What events add to the quarters of an hour.
 * @param events in the order in which they were stored, which decides what tags are told apart
 * @param told tags of their days that are told apart already
 */
export function countTags(events: readonly TaggedEvent[], told: readonly ToldTag[]): TagCount[] {
  const tell = createTeller(told)
  const counts = events.flatMap(({ teamId, createdAt, domainId, provider, counted, amount, tags }) =>
    tagsOf(tags).flatMap((one) => {
      const tag = tell(teamId, dayOf(createdAt), one)
      const about = { teamId, at: quarterOf(createdAt), domainId, provider, tag }
      return countersIn(counted).map((counter) => ({ ...about, counter, n: amount }))
    }),
  )
  return addUp(counts, keyOfCount)
}

/** What quarters add to their days: of all, by domain, and by provider where one is known. */
export function daysOfTags(counts: readonly TagCount[]): TagDay[] {
  const days = counts.flatMap(({ teamId, at, domainId, provider, tag, counter, n }): TagDay[] => {
    const about = { teamId, at: dayOf(at), tag, counter, n }
    return [
      { ...about, dimension: 'all', value: '' },
      { ...about, dimension: 'domain', value: domainId },
      ...(provider === '' ? [] : [{ ...about, dimension: 'provider' as const, value: provider }]),
    ]
  })
  return addUp(days, keyOfDay)
}

/** How many numbers differ. */
export function differences<T extends { n: number }>(
  is: readonly T[],
  should: readonly T[],
  keyOf: (row: T) => string,
): number {
  const numbers = (rows: readonly T[]) => new Map(rows.map((row) => [keyOf(row), row.n]))
  const [a, b] = [numbers(is), numbers(should)]
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).length
}
