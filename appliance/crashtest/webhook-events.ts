/** Waits until the webhook endpoint has received all events, and asks the daemon for its events. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import { fetchJson, fetchAllPages, forEachConcurrently, type ApiTarget } from './api-client.ts'
import type { ReportedEvent, Ledger } from './ledger.ts'
import { evaluateArrivals } from './verdict-arrivals.ts'
import { evaluateEvents } from './verdict-events.ts'

/** Time limit for the last daemon to send the events that earlier runs couldn't send, in milliseconds. */
const TELL_MS = 180_000
/** Interval between checks, in milliseconds. A request to an endpoint that responds immediately takes far less. */
const LOOK_MS = 1000

interface WaitingEvent {
  id: string
}

interface TimelineEvents {
  events: { type: string; created_at: string }[]
}

/**
 * Fills `ledger.known` with the events of these emails, which must be final. Then waits, at most three minutes, until
 * no delivery is pending and every event was received.
 * @returns problems; missing events are found by the verdict
 */
export async function collectEvents(
  asked: ApiTarget,
  emailIds: readonly string[],
  { ledger, clock }: { ledger: Ledger; clock: Clock },
): Promise<string[]> {
  try {
    const [webhook] = await fetchAllPages<{ id: string }>(asked, '/webhooks')
    if (webhook === undefined) return []
    ledger.known = await eventsOf(asked, emailIds)
    const late = clock.now() + TELL_MS
    let before = new Set<string>()
    for (;;) {
      const waiting = await waitingEvents(asked, webhook.id)
      const { untold } = evaluateEvents(ledger)
      if (waiting.length + untold.length + evaluateArrivals(ledger).untold.length === 0) return []
      if (clock.now() > late)
        return waiting.length === 0 ? [] : [`${waiting.length} events still wait for the webhook endpoint.`]
      // A delivery that was already pending at the last check belongs to an attempt that died with a daemon, and would
      // wait half a minute to hours. Resend it under the same ID, as an impatient operator would.
      const stuck = waiting.filter((id) => before.has(id))
      await forEachConcurrently(stuck, (id) =>
        fetchJson(asked, `/webhooks/${webhook.id}/events/${id}/replay`, 'POST'),
      )
      before = new Set(waiting.filter((id) => !stuck.includes(id)))
      await pause(LOOK_MS)
    }
  } catch (error) {
    return [`The daemon was asked for events. ${(error as Error).message}`]
  }
}

/** Returns the ids of pending deliveries to the endpoint. */
async function waitingEvents(asked: ApiTarget, webhookId: string): Promise<string[]> {
  const path = `/webhooks/${webhookId}/events`
  const pending = await fetchAllPages<WaitingEvent>(asked, path, { status: 'pending' })
  const attempting = await fetchAllPages<WaitingEvent>(asked, path, { status: 'attempting' })
  return [...new Set([...pending, ...attempting].map(({ id }) => id))]
}

async function eventsOf(asked: ApiTarget, emailIds: readonly string[]): Promise<ReportedEvent[]> {
  const known: ReportedEvent[] = []
  await forEachConcurrently(emailIds, async (emailId) => {
    const { events } = await fetchJson<TimelineEvents>(asked, `/emails/${emailId}/timeline`)
    for (const { type, created_at } of events) known.push({ emailId, type, at: instantOf(created_at) })
  })
  return known
}

/** Converts the API's times, such as `2026-11-20 08:00:00.5+00`, to Unix milliseconds. */
const instantOf = (text: string): number => Date.parse(`${text.replace(' ', 'T')}:00`)
