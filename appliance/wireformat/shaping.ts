import type * as schema from '../http/schemas/shaping.ts'
import { laneWords } from '../mail/waiting.ts'
import { writeSettings, type LaneFacts, type Provider } from '../shaping/shaping.ts'
import { timestamp, timestampOrNull } from '../api/timestamp.ts'

/** A mailbox provider; ours. */
export function presentProvider(provider: Provider): schema.Provider {
  const { id, name, mx, limits, warmUp, pauses, origin, changed } = provider
  const settings = writeSettings({ ...limits, warmUp }) as Pick<
    schema.Provider,
    | 'connections'
    | 'messages_per_connection'
    | 'messages_per_minute'
    | 'recipients_per_message'
    | 'idle_seconds'
    | 'warm_up'
  >
  return {
    object: 'provider',
    id,
    name,
    mx,
    ...settings,
    pauses: pauses.map(({ text, enhanced, minutes, says }) => ({
      text: text?.source ?? null,
      enhanced: enhanced?.source ?? null,
      minutes,
      says,
    })),
    origin,
    changed,
  }
}

/** A lane; ours. */
export function presentLane(lane: LaneFacts): schema.Lane {
  const { warmUp, activity } = lane
  return {
    object: 'lane',
    id: lane.id,
    source: lane.source,
    pool: lane.pool,
    provider: lane.provider,
    provider_name: lane.name,
    connections: lane.allowed.connections,
    most_connections: lane.limits.connections,
    messages_per_minute: Math.round(lane.allowed.messagesPerMinute),
    most_messages_per_minute: lane.limits.messagesPerMinute,
    in_flight: activity?.inFlight ?? null,
    last_minute: activity?.lastMinute ?? null,
    minutes: activity?.minutes ?? null,
    paused: lane.paused !== null,
    paused_until: timestampOrNull(lane.paused?.until ?? null),
    warm_up: warmUp && { day: warmUp.day, share: warmUp.share, sent: warmUp.sent },
    reason: lane.reason && laneWords(lane.reason, lane.name),
    decision: lane.reason,
    reason_at: timestampOrNull(lane.reasonAt),
    updated_at: timestamp(lane.updatedAt),
  }
}
