/** Generates seeded nonsense: text, JSON values and bytes that are almost valid, or completely invalid. */
import type { Dice } from '../../appliance/crashtest/plan.ts'

/** Picks one item. */
export const pick = <T>(dice: Dice, items: readonly T[]): T => items[dice.between(0, items.length - 1)]!

/** Returns true with the given probability (0 to 1). */
export const happens = (dice: Dice, probability: number): boolean => dice.next() < probability

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
export function text(dice: Dice): string {
  const parts = Array.from({ length: dice.between(1, 3) }, () => pick(dice, happens(dice, 0.6) ? WORDS : ODD))
  return parts.join('')
}

/** Field names of the API's request bodies. */
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
export function json(dice: Dice, depth = 3): unknown {
  const kind = dice.between(0, depth > 0 ? 7 : 4)
  if (kind === 0) return pick(dice, [null, true, false, 0, -1, 1.5, 2 ** 53, 1e308])
  if (kind <= 4) return text(dice)
  if (kind === 5) return Array.from({ length: dice.between(0, 4) }, () => json(dice, depth - 1))
  return Object.fromEntries(
    Array.from({ length: dice.between(0, 6) }, () => [pick(dice, NAMES), json(dice, depth - 1)]),
  )
}

/** Returns the same bytes with some changed, removed or duplicated. */
export function damaged(dice: Dice, octets: Buffer): Buffer {
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
