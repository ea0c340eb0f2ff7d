/** Generates seeded nonsense: text, JSON values and bytes that are almost valid, or completely invalid. */
import type { RandomGenerator } from '../../appliance/crashtest/plan.ts'

/** Picks one item. */
export const pickRandomItem = <T>(dice: RandomGenerator, items: readonly T[]): T =>
  items[dice.between(0, items.length - 1)]!

/** Returns true with the given probability (0 to 1). */
export const chance = (dice: RandomGenerator, probability: number): boolean => dice.next() < probability

const ODD = [
  '',
  ' ',
  '"',
  '\\',
  '<',
  '>',
  '@',
  ';',
  ',',
  '%00',
  '\t',
  '../',
  '{}',
  '[',
  '=?utf-8?q?=?=',
  '\u00e9',
  '\u{1f600}',
  '\u202e',
  '\ufeff',
  '0',
  '-1',
  '1e400',
  'null',
  'NaN',
  '__proto__',
]
const WORDS = [
  'ada@customer.example',
  'app@one.example',
  'App <app@one.example>',
  'hello',
  'one.example',
  'text/html',
  '2026-01-01T00:00:00Z',
  'in 1 hour',
  'email.sent',
  'full_access',
  'https://hook.example/',
  'http://127.0.0.1:9/',
  'aGVsbG8=',
  '<p>Hello</p>',
  'a'.repeat(300),
]

/** Returns a short text: a word, something odd, or both. */
export function randomText(dice: RandomGenerator): string {
  const parts = Array.from({ length: dice.between(1, 3) }, () =>
    pickRandomItem(dice, chance(dice, 0.6) ? WORDS : ODD),
  )
  return parts.join('')
}

/** Field names in the API's request bodies. */
const NAMES = [
  'from',
  'to',
  'cc',
  'bcc',
  'reply_to',
  'subject',
  'html',
  'text',
  'headers',
  'tags',
  'attachments',
  'scheduled_at',
  'name',
  'value',
  'filename',
  'content',
  'path',
  'content_type',
  'domain',
  'region',
  'permission',
  'domain_id',
  'endpoint',
  'events',
  'email',
  'csv',
  'id',
  '__proto__',
  'constructor',
  '',
]

/** Returns a JSON value with objects and arrays nested at most `depth` deep. */
export function randomJson(dice: RandomGenerator, depth = 3): unknown {
  const kind = dice.between(0, depth > 0 ? 7 : 4)
  if (kind === 0) return pickRandomItem(dice, [null, true, false, 0, -1, 1.5, 2 ** 53, 1e308])
  if (kind <= 4) return randomText(dice)
  if (kind === 5) return Array.from({ length: dice.between(0, 4) }, () => randomJson(dice, depth - 1))
  return Object.fromEntries(
    Array.from({ length: dice.between(0, 6) }, () => [
      pickRandomItem(dice, NAMES),
      randomJson(dice, depth - 1),
    ]),
  )
}

/** Returns the same bytes with some changed, removed or duplicated. */
export function corruptBytes(dice: RandomGenerator, octets: Buffer): Buffer {
  const copy = Buffer.from(octets)
  const at = (): number => dice.between(0, Math.max(0, copy.length - 1))
  for (let times = dice.between(1, 4); times > 0 && copy.length > 0; times--)
    copy[at()] = dice.between(0, 255)
  const [from, to] = [at(), at()]
  switch (dice.between(0, 3)) {
    case 0:
      return copy.subarray(0, from)
    case 1:
      return Buffer.concat([copy.subarray(0, from), copy.subarray(to)])
    default:
      return copy
  }
}
