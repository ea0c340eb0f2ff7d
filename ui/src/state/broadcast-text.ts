/** Describes the rate of a broadcast, and when sending will be done. Pure. */
import { MAX_EMAILS_PER_HOUR } from '../../../appliance/mail/broadcast-rate.ts'
import { formatExactTime } from './time.ts'

/**
 * Describes when sending will be done: `Done about Friday 18:40.` Names the day unless it is today, and the date if it
 * is a week or more away. Uses the browser's time zone.
 */
export function describeFinishTime(at: number, now: number): string {
  const time = formatExactTime(at, false).slice(11, 16)
  const days = Math.round(
    (Date.parse(formatExactTime(at, false).slice(0, 10)) -
      Date.parse(formatExactTime(now, false).slice(0, 10))) /
      DAY,
  )
  if (days === 0) return `Done about ${time}.`
  const named = new Intl.DateTimeFormat(
    'en',
    days < 7 ? { weekday: 'long' } : { month: 'short', day: 'numeric' },
  )
  return `Done about ${named.format(at)} ${time}.`
}
const DAY = 86_400_000

/** Describes the rate of a broadcast. `null` means that no rate is set. */
export const formatRate = (rate: number | null): string =>
  rate === null
    ? 'As fast as the limits of the mailbox providers allow'
    : `At most ${rate.toLocaleString('en')} ${rate === 1 ? 'email' : 'emails'} per hour, spread evenly`

/** Returns why a typed rate is invalid; empty if it is valid. An empty text means no rate. */
export function findRateError(text: string): string {
  const rate = text.trim()
  if (rate === '' || (/^[1-9]\d{0,6}$/.test(rate) && Number(rate) <= MAX_EMAILS_PER_HOUR)) return ''
  return `Enter a whole number from 1 to ${MAX_EMAILS_PER_HOUR.toLocaleString('en')}, or nothing.`
}
