/** Parsers for options and arguments. Each throws `InvalidArgumentError` with the expected format. */
import { InvalidArgumentError } from 'commander'
import { MAX_EMAILS_PER_HOUR } from '../mail/broadcast-rate.ts'
import { isId } from '../mail/ids.ts'
import { MAX_PAUSE_MINUTES } from '../shaping/shaping.ts'

/** Parses a seed for random numbers. */
export function parseSeed(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Expected a whole number from 0 to 999999999.')
  return Number(text)
}

/** Parses an id; returns it in lower case. */
export function parseId(text: string): string {
  if (!isId(text)) throw new InvalidArgumentError('An ID looks like 0197c3e2-5a71-7000-8000-1c2d3e4f5061.')
  return text.toLowerCase()
}

/** Parses comma-separated ids; returns them in lower case. */
export const parseIds = (text: string): string => text.split(',').map(parseId).join(',')

/** Parses the length of a pause in minutes. */
export function parseMinutes(text: string): number {
  const minutes = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Infinity
  if (minutes > MAX_PAUSE_MINUTES)
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${MAX_PAUSE_MINUTES}.`)
  return minutes
}

/** Parses a rate in emails per hour, or `none`. */
export function parseRate(text: string): string {
  if (text !== 'none' && !(/^[1-9]\d{0,6}$/.test(text) && Number(text) <= MAX_EMAILS_PER_HOUR))
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${MAX_EMAILS_PER_HOUR}, or none.`)
  return text
}

/** Parses a count. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new InvalidArgumentError('Expected a whole number from 1 to 999999.')
  return Number(text)
}
