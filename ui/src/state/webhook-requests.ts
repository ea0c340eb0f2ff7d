import type { WebhookRequests } from '../../../appliance/http/schemas/webhooks.ts'
import { duration } from './time.ts'

/** The share of requests that the endpoint took. Not quite all of them is never 100 %. */
export function takenShare({ count, taken }: Pick<WebhookRequests, 'count' | 'taken'>): string {
  return count === 0 ? 'no requests' : `${Math.floor((1000 * taken) / count) / 10} %`
}

/** How long the endpoint takes to answer; empty when it answered nothing. */
function answerTimes({ median_ms, p95_ms }: WebhookRequests): string {
  if (median_ms === null || p95_ms === null) return ''
  return `median ${duration(median_ms)}, 95 % within ${duration(p95_ms)}`
}

/** How the requests of a day went, as a sentence. */
export function ofRequests(requests: WebhookRequests): string {
  const { count } = requests
  if (count === 0) return 'No requests in the last 24 hours.'
  const many = count === 1 ? '1 request' : `${count} requests`
  const words = `${takenShare(requests)} of ${many} in the last 24 hours ${count === 1 ? 'was' : 'were'} taken`
  const times = answerTimes(requests)
  return times === '' ? `${words}; none was answered.` : `${words}. Answers: ${times}.`
}
