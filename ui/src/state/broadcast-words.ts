/** Words the rate of a broadcast, and when it will be done. Pure. */
import { MOST_PER_HOUR } from '../../../appliance/mail/broadcast-rate.ts'
import { exact } from './time.ts'

/**
 * Words when sending is done: `Done about Friday 18:40.` Names the day unless it is today, and the date after a week.
 * In the browser's time zone.
 */
export function doneWords(at: number, now: number): string {
  const time = exact(at, false).slice(11, 16)
  const days = Math.round(
    (Date.parse(exact(at, false).slice(0, 10)) - Date.parse(exact(now, false).slice(0, 10))) / DAY,
  )
  if (days === 0) return `Done about ${time}.`
  const named = new Intl.DateTimeFormat(
    'en',
    days < 7 ? { weekday: 'long' } : { month: 'short', day: 'numeric' },
  )
  return `Done about ${named.format(at)} ${time}.`
}
const DAY = 86_400_000

/** Words the rate of a broadcast. Null: it has none. */
export const rateWords = (rate: number | null): string =>
  rate === null
    ? 'As fast as the limits of the mailbox providers allow'
    : `At most ${rate.toLocaleString('en')} ${rate === 1 ? 'email' : 'emails'} per hour, spread evenly`

/** Returns what is wrong with a rate that somebody typed; empty if nothing is. An empty text stands for no rate. */
export function rateMistake(text: string): string {
  const rate = text.trim()
  if (rate === '' || (/^[1-9]\d{0,6}$/.test(rate) && Number(rate) <= MOST_PER_HOUR)) return ''
  return `Enter a whole number from 1 to ${MOST_PER_HOUR.toLocaleString('en')}, or nothing.`
}
