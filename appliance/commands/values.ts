/** Values of options and arguments. */
import { InvalidArgumentError } from 'commander'
import { isId } from '../mail/ids.ts'
import { MOST_PAUSE_MINUTES } from '../shaping/shaping.ts'

/** A seed of dice. Refuses what is none, with what is expected. */
export function parseSeed(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Expected a whole number from 0 to 999999999.')
  return Number(text)
}

/** An id, in small letters. Refuses what is none, with what is expected. */
export function parseId(text: string): string {
  if (!isId(text)) throw new InvalidArgumentError('An ID looks like 0197c3e2-5a71-7000-8000-1c2d3e4f5061.')
  return text.toLowerCase()
}

/** Ids with commas between, in small letters. Refuses what is none, with what is expected. */
export const parseIds = (text: string): string => text.split(',').map(parseId).join(',')

/** How long a lane is paused. Refuses what is none, with what is expected. */
export function parseMinutes(text: string): number {
  const minutes = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Infinity
  if (minutes > MOST_PAUSE_MINUTES)
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${MOST_PAUSE_MINUTES}.`)
  return minutes
}

/** How many. Refuses what is none, with what is expected. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new InvalidArgumentError('Expected a whole number from 1 to 999999.')
  return Number(text)
}
