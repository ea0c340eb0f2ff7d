/**
 * Reasons why mail waits, and why a lane sends less than it could, as data and as text. No other file contains their
 * wording. No reason contains a time, because only the caller knows the time zone. Pure; also used by the dashboard.
 */
import type { Reply } from './reply.ts'

/** The last decision about a lane. */
export type LaneReason =
  /** The providers table has a rule for this reply, with its `says`. */
  | { key: 'answered'; reply: Reply; says: string }
  | { key: 'one_at_a_time'; note: string }
  | { key: 'fewer_connections'; connections: number; note: string }
  | { key: 'unreachable'; attempts: number; note: string }
  | { key: 'recovering'; connections: number; rate: number }
  | { key: 'recovered' }
  | { key: 'paused_by_operator' }
  | { key: 'resumed_by_operator' }
  /** A day of the warm-up is repeated, because `complained` of `sent` messages were refused, or the lane was paused. */
  | {
      key: 'warm_up_setback'
      messages: number
      sent: number
      complained: number
      because?: LaneReason | null | undefined
    }
  /** A sentence that an older version stored. */
  | { key: 'text'; text: string }

export const LANE_REASONS = [
  'answered',
  'one_at_a_time',
  'fewer_connections',
  'unreachable',
  'recovering',
  'recovered',
  'paused_by_operator',
  'resumed_by_operator',
  'warm_up_setback',
  'text',
] as const satisfies readonly LaneReason['key'][]

/** The lane; `source` is null when the system chooses the IP. */
interface Where {
  provider: string
  source: string | null
}

/** Why a delivery waits. */
export type WaitReason =
  | { key: 'held' }
  | { key: 'scheduled' }
  /** `attempt` is the number of the next attempt. */
  | { key: 'deferred'; attempt: number; note: string; reply: Reply | null }
  | { key: 'in_flight'; attempt: number }
  | ({ key: 'paused'; because: LaneReason | null } & Where)
  | ({ key: 'warm_up'; sent: number; share: number } & Where)
  | ({ key: 'rate'; rate: number; because: LaneReason | null } & Where)
  | ({ key: 'connections'; connections: number; because: LaneReason | null } & Where)
  | { key: 'no_source'; note: string }
  | { key: 'due' }

export const WAIT_REASONS = [
  'held',
  'scheduled',
  'deferred',
  'in_flight',
  'paused',
  'warm_up',
  'rate',
  'connections',
  'no_source',
  'due',
] as const satisfies readonly WaitReason['key'][]

/** Prepares a remote sentence for use within another: one line, no full stop. */
const within = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/[.\s]+$/, '')

const counted = (count: number, one: string): string =>
  count === 1 ? `1 ${one}` : `${count.toLocaleString('en')} ${one}s`

/** Shortens a reply: a code in brackets (`TSS04`) if there is one, else its codes and first words. */
function briefly({ code, enhanced, text }: Reply): string {
  const named = /\[([A-Z]{1,5}\d{1,4})\]/.exec(text)?.[1]
  if (named !== undefined) return named
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const words = line.length > 80 ? `${line.slice(0, 79)}…` : line
  return `"${[code, enhanced, words].filter((part) => part !== null && part !== '').join(' ')}"`
}

/** Returns a reply's codes: `421 4.7.28`. */
const codesOf = ({ code, enhanced }: Pick<Reply, 'code' | 'enhanced'>): string =>
  enhanced === null ? String(code) : `${code} ${enhanced}`

/**
 * Formats a decision about a lane, without a full stop.
 * @param provider name of the provider
 */
export function describeLaneReason(reason: LaneReason, provider: string): string {
  switch (reason.key) {
    case 'answered':
      return `${provider} replied ${briefly(reason.reply)}: it ${within(reason.says)}`
    case 'one_at_a_time':
      return `sending one message at a time until ${provider} accepts mail again: ${within(reason.note)}`
    case 'fewer_connections':
      return `at most ${counted(reason.connections, 'connection')} to ${provider}: ${within(reason.note)}`
    case 'unreachable':
      return `${provider} could not be reached ${reason.attempts} times in a row: ${within(reason.note)}`
    case 'recovering':
      return `${provider} accepts mail again: now ${counted(reason.connections, 'connection')}, ${counted(reason.rate, 'message')} a minute`
    case 'recovered':
      return `${provider} accepts mail at full pace`
    case 'paused_by_operator':
      return 'paused by an operator'
    case 'resumed_by_operator':
      return 'resumed by an operator'
    case 'warm_up_setback':
      return `the warm-up limit for ${provider} was reduced to ${counted(reason.messages, 'message')} a day: ${
        reason.because
          ? describeLaneReason(reason.because, provider)
          : `${reason.complained} of ${reason.sent} messages were refused`
      }`
    case 'text':
      return within(reason.text)
  }
}

const from = ({ source }: Where): string => (source === null ? '' : ` from ${source}`)

/** Formats the limit of connections: `one of 5 connections to Google`. */
const oneOf = ({ connections, provider }: { connections: number; provider: string }): string =>
  connections === 1 ? `the one connection to ${provider}` : `one of ${connections} connections to ${provider}`

/** Formats the reason why a delivery waits as one line, with a capital letter and without a full stop. */
export function formatWaitReason(reason: WaitReason): string {
  switch (reason.key) {
    case 'held':
      return 'Held by an operator'
    case 'scheduled':
      return 'Scheduled by the sender'
    case 'deferred': {
      const note = within(reason.note)
      const { reply } = reason
      return reply === null || note.includes(String(reply.code)) ? note : `${note} (${codesOf(reply)})`
    }
    case 'in_flight':
      return `Attempt ${reason.attempt} is in progress`
    case 'paused':
      return reason.because === null || reason.because.key === 'paused_by_operator'
        ? `${reason.provider}${from(reason)} is paused by an operator`
        : describeLaneReason(reason.because, reason.provider)
    case 'warm_up':
      return `Warm-up: ${reason.sent} of ${reason.share} messages to ${reason.provider} sent today${from(reason)}`
    case 'rate':
      return `Rate limit: ${counted(reason.rate, 'message')} a minute to ${reason.provider}${from(reason)}`
    case 'connections':
      return `Waiting for ${oneOf(reason)}${from(reason)}`
    case 'no_source':
      return within(reason.note)
    case 'due':
      return 'Next in line'
  }
}

/**
 * Formats the reason together with the time at which the wait ends, to continue a paragraph: lower case, no full stop.
 * @param at formats a time
 */
export function describeWait(
  reason: WaitReason,
  until: number | null,
  at: (instant: number) => string,
): string {
  const because =
    'because' in reason && reason.because !== null ? describeLaneReason(reason.because, reason.provider) : ''
  switch (reason.key) {
    case 'held':
      return 'held by an operator until released'
    case 'scheduled':
      return `scheduled for ${at(until ?? 0)} by the sender`
    case 'deferred':
      return `attempt ${reason.attempt} at ${at(until ?? 0)}: ${within(reason.note)}`
    case 'in_flight':
      return `attempt ${reason.attempt} is in progress; a retry, if needed, at ${at(until ?? 0)}`
    case 'paused':
      return until === null
        ? `paused until an operator resumes it: ${because || 'no reason recorded'}`
        : `paused until ${at(until)}: ${because || 'no reason recorded'}`
    case 'warm_up':
      return `warm-up: ${reason.sent} of ${reason.share} messages to ${reason.provider} sent today${from(reason)}; continues at ${at(until ?? 0)}`
    case 'rate':
      return `rate limit of ${counted(reason.rate, 'message')} a minute to ${reason.provider}${from(reason)}${because && `; ${because}`}`
    case 'connections':
      return `waiting for ${oneOf(reason)}${from(reason)}${because && `; ${because}`}`
    case 'no_source':
      return within(reason.note)
    case 'due':
      return 'next in line'
  }
}

/** Why an email waited before an attempt. */
export const PAST_WAIT_REASONS = [
  'scheduled', // its sender chose a later time
  'retry', // the pause after a temporary failure
  'greylisting', // the pause after greylisting by the server
  'interrupted', // a restart ended the previous attempt
  'held', // an operator held it
  'paused', // the lane was paused
  'rate', // the rate limit of the lane
  'warm_up', // the daily limit of a warm-up
  'connections', // all connections of the lane were in use
  'restart', // the service was not running
  'queue', // other mail went first
  'unknown', // from an older version that didn't record reasons
] as const
export type PastWaitReason = (typeof PAST_WAIT_REASONS)[number]

/** Minimum length of a wait that is mentioned, in milliseconds. */
export const MIN_SHOWN_WAIT = 1000

/** Why an attempt began later than it was due. */
export interface PastWait {
  /** When the attempt was due (Unix milliseconds). */
  since: number
  reason: PastWaitReason
  /** Completes "Waited 35 s: …". */
  why: string
}
