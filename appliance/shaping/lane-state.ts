/** The state of a lane, and the signals that change it. */
import type { LaneReason } from '../mail/waiting.ts'
import type { Pace } from './pace.ts'

/** Why nothing is sent, and until when. */
export interface Pause {
  /** When it began. */
  at: number
  /** When the pause ends; null if only an operator can end it. */
  until: number | null
  by: 'reply' | 'silence' | 'operator'
}

/** The state of a lane, as saved. */
export interface LaneState {
  /** Current number of connections allowed, within the provider's limit. */
  connections: number
  /** The highest number of connections that worked when more didn't, and for how long to stay at or below it. */
  crowded: { most: number; at: number; holdMs: number } | null
  pace: Pace
  /** When the next message may start at an even pace, and when the next MAIL may be sent (rate.ts). */
  next: number
  nextMail: number
  /** Number of messages accepted since the number of connections last changed. */
  clean: number
  /** Conversations that began before this time don't cause another decrease. */
  cutAt: number
  /** Number of consecutive attempts without any response. */
  silent: number
  pause: Pause | null
  /** Reduced limits after a pause. */
  slow: { until: number; messagesPerMinute: number; connections: number } | null
  /** The last decision. */
  reason: LaneReason | null
  reasonAt: number | null
  /**
   * Number of recipients on one UTC day: those that the provider replied about, and those that it deferred or refused
   * because of the sending IP.
   */
  today: { day: string; sent: number; complained: number }
  /** The progress of the warm-up that began at `since` (warm-up.ts). */
  warmUp: { since: number | null; setbacks: number; badDay: string | null }
}

/** The effect of a conversation's outcome on its lane. */
export type SignalKind =
  /** The provider accepted the message. */
  | 'taken'
  /** The provider wants less mail, or has problems of its own. */
  | 'slower'
  /** The provider objects to the sending IP. */
  | 'reputation'
  /** No response: connection refused, timeout, or connection closed. */
  | 'silent'
  /** The outcome concerns only the recipient or the message. */
  | 'neutral'

export interface Signal {
  kind: SignalKind
  /** When the attempt was admitted. */
  since: number
  /** The reply: code, enhanced code and text. */
  said: { code: number; enhanced: string | null; text: string } | null
  /** A sentence for people. */
  note: string
  /** Number of recipients that the outcome applies to. */
  recipients: number
  /** Whether the outcome is final for these recipients. */
  final: boolean
  /** The reaction that the bounce rules (config/bounces.toml) require of the lane. */
  asks?: { kind: 'slow' | 'pause' | 'connections'; minutes: number }
}
