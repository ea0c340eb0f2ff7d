/** Describes in words how long sending takes, for the command line and the dashboard. Pure. */

const DAY_HOURS = 24

/** Formats a number of hours: `about 40 min`, `about 6 h`, `about 2.5 days`. Null means unknown. */
export function formatHours(hours: number | null): string {
  if (hours === null) return 'not known yet'
  if (hours < 0.2) return 'a few minutes'
  if (hours < 1) return `about ${Math.round(hours * 6) * 10} min`
  if (hours <= DAY_HOURS) return `about ${hours.toLocaleString('en', { maximumFractionDigits: 1 })} h`
  const days = Math.round(hours / 12) / 2
  return days === 1 ? 'about 1 day' : `about ${days.toLocaleString('en')} days`
}

/** What limits sending to a provider; see `ForecastLimit`. */
type Limit = 'rate' | 'warm_up' | 'lanes'

/**
 * Explains why sending takes more than a day, as a continuation of `formatHours`; empty if it doesn't.
 * @param by what limits it
 */
export function explainForecastLimit(hours: number | null, by: Limit | null): string {
  if (hours === null || hours <= DAY_HOURS || by === null) return ''
  switch (by) {
    case 'rate':
      return ', by the rate of the broadcast'
    case 'warm_up':
      return ', by the warm-up of your IPs'
    case 'lanes':
      return ', by the limits of the provider'
  }
}
