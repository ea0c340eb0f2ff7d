import type { WebhookRequests } from '../../../appliance/api/webhooks.ts'
import { formatDuration } from './time.ts'

/** Returns the share of requests that succeeded (2xx). Shows 100% only if all requests succeeded. */
export function formatSuccessShare({ count, taken }: Pick<WebhookRequests, 'count' | 'taken'>): string {
  return count === 0 ? 'no requests' : `${Math.floor((1000 * taken) / count) / 10}%`
}

/** Summarizes the requests of a day: `65 requests in the last 24 h · 100% succeeded · p50 2 ms · p95 8 ms`. */
export function summarizeRequests(requests: WebhookRequests): string {
  const { count, median_ms: median, p95_ms: p95 } = requests
  if (count === 0) return 'No requests in the last 24 h'
  const many = count === 1 ? '1 request' : `${count.toLocaleString('en')} requests`
  const times =
    median === null || p95 === null
      ? 'no responses'
      : `p50 ${formatDuration(median)} · p95 ${formatDuration(p95)}`
  return `${many} in the last 24 h · ${formatSuccessShare(requests)} succeeded · ${times}`
}
