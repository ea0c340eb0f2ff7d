/**
 * One lane: how much goes from one source address to one provider. A pure state machine; times in Unix milliseconds.
 *
 * What goes well widens it by steps (additive increase), what the provider complains of halves it (multiplicative decrease), once for
 * all conversations that were under way. Replies that the provider's table knows pause it.
 */
import type { Limits } from './settings.ts'
import type { PauseRule, Provider, Slow } from './providers.ts'
import { freeAt, freeNow, taken } from './rate.ts'
import { moment } from './words.ts'

/** A lane begins with so many connections, as Postfix does, and earns the others. */
const FIRST_CONNECTIONS = 5
/** Above every limit, so that the provider's own counts. */
const WHOLE_RATE = 1_000_000
/** Halving ends here: one message in ten seconds tells whether things are better, and hurts nobody. */
const LEAST_RATE = 6
/** A step up adds this share of the limit, … */
const RATE_STEP = 0.05
/** … once in so much time: a provider judges by minutes, and must have seen the last step before the next. */
const RATE_STEP_MS = 60_000
/** So many attempts in a row reached nobody: the provider is left alone for a while. */
const SILENT_AFTER = 5
const SILENCE = 60_000
const LONGEST_SILENCE = 15 * 60_000

const minute = 60_000

/** Why and until when nothing goes. */
export interface Pause {
  /** When it began. */
  at: number
  /** Null: until somebody ends it. */
  until: number | null
  by: 'reply' | 'silence' | 'operator'
}

/** The state of a lane, as it is saved. */
export interface LaneState {
  /** Allowed now, within the provider's limit. */
  connections: number
  /** Messages a minute allowed now, within the provider's limit. */
  rate: number
  /** When the next message would come at an even pace (rate.ts). */
  next: number
  /** Messages in the minute that began at `minute`, and in the one before. */
  pace: { minute: number; now: number; before: number }
  /** Messages taken since the lane was last changed. */
  clean: number
  /** When the rate last grew. */
  fasterAt: number
  /** What began before this has been answered for by the last decrease. */
  cutAt: number
  /** Attempts in a row that reached nobody. */
  silent: number
  pause: Pause | null
  /** Narrow limits after a pause. */
  slow: { until: number; messagesPerMinute: number; connections: number } | null
  /** The last decision, a sentence. */
  reason: string | null
  reasonAt: number | null
  /** Recipients of one day of UTC: all that the provider answered for, and those it deferred or refused because of us. */
  today: { day: string; sent: number; complained: number }
  /** How the warm-up that began at `since` fares (warm-up.ts). */
  warmUp: { since: number | null; setbacks: number; badDay: string | null }
}

/** What a conversation means for its lane. */
export type SignalKind =
  /** The provider took it. */
  | 'taken'
  /** It wants less, or has trouble of its own. */
  | 'slower'
  /** It complains of the source address. */
  | 'reputation'
  /** Nobody answered: a refused connection, a timeout, an end without a word. */
  | 'silent'
  /** It is about the recipient or the message. */
  | 'neutral'

export interface Signal {
  kind: SignalKind
  /** When its attempt was admitted. */
  since: number
  /** What was said: code, enhanced code and text. */
  said: { code: number; enhanced: string | null; text: string } | null
  /** One sentence for people. */
  note: string
  /** How many recipients it was said of. */
  recipients: number
  /** It was the last word on them. */
  final: boolean
  /** What the rules of replies (config/bounces.toml) ask of the lane. */
  asks?: { kind: 'slow' | 'pause'; minutes: number }
}

/** The state of a lane that nothing happened on yet. */
export function freshLane(limits: Limits): LaneState {
  return {
    connections: Math.min(FIRST_CONNECTIONS, limits.connections),
    rate: limits.messagesPerMinute,
    next: 0,
    pace: { minute: 0, now: 0, before: 0 },
    clean: 0,
    fasterAt: 0,
    cutAt: 0,
    silent: 0,
    pause: null,
    slow: null,
    reason: null,
    reasonAt: null,
    today: { day: '', sent: 0, complained: 0 },
    warmUp: { since: null, setbacks: 0, badDay: null },
  }
}

/** What a lane allows now: its own state, the provider's limits, and the narrow ones after a pause. */
export function allowed(
  { connections, rate, slow }: LaneState,
  limits: Limits,
  now: number,
): { connections: number; rate: number } {
  const narrow = slow !== null && now < slow.until ? slow : null
  return {
    connections: Math.max(
      1,
      Math.min(Math.floor(connections), limits.connections, narrow?.connections ?? Infinity),
    ),
    rate: Math.max(1, Math.min(rate, limits.messagesPerMinute, narrow?.messagesPerMinute ?? Infinity)),
  }
}

/** Whether a lane is paused now. */
export function isPaused({ pause }: LaneState, now: number): boolean {
  return pause !== null && (pause.until === null || now < pause.until)
}

/** How many messages may begin now. @param open connections with a message on them */
export function roomIn(state: LaneState, limits: Limits, open: number, now: number): number {
  if (isPaused(state, now)) return 0
  const { connections, rate } = allowed(state, limits, now)
  return Math.max(0, Math.min(connections - open, freeNow(state.next, rate, now)))
}

/** When a lane that has no room for another reason than its connections will have some; null when somebody must end its pause. */
export function opensAt(state: LaneState, now: number): number | null {
  if (!isPaused(state, now)) return freeAt(state.next, now)
  return state.pause!.until
}

/** One message goes. */
export function began(state: LaneState, limits: Limits, now: number): LaneState {
  const { rate } = allowed(state, limits, now)
  return { ...state, next: taken(state.next, rate, now), pace: counted(state.pace, now) }
}

/** An operator's pause. @param until null: until somebody ends it */
export function pausedBy(state: LaneState, until: number | null, reason: string, now: number): LaneState {
  return { ...state, pause: { at: now, until, by: 'operator' }, reason, reasonAt: now }
}

/** An operator ends a pause and the narrow limits after it: the lane begins anew. */
export function resumed(state: LaneState, now: number): LaneState {
  return {
    ...state,
    connections: FIRST_CONNECTIONS,
    rate: WHOLE_RATE,
    clean: 0,
    cutAt: now,
    pause: null,
    slow: null,
    silent: 0,
    reason: `resumed by an operator at ${moment(now, now)}`,
    reasonAt: now,
  }
}

/** The state after a conversation. */
export function observe(state: LaneState, signal: Signal, provider: Provider, now: number): LaneState {
  switch (signal.kind) {
    case 'taken':
      return widened({ ...state, silent: 0, clean: state.clean + 1 }, provider, now)
    case 'neutral':
      // The table may know a reply that says nothing to others.
      return signal.said && pauseFor(signal.said, provider.pauses)
        ? complained({ ...state, silent: 0 }, signal, provider, now)
        : { ...state, silent: 0 }
    case 'silent':
      return silenced(state, signal, provider, now)
    case 'slower':
    case 'reputation':
      return complained({ ...state, silent: 0 }, signal, provider, now)
  }
}

function complained(state: LaneState, signal: Signal, provider: Provider, now: number): LaneState {
  if (signal.since < state.cutAt) return state
  const { said, asks } = signal
  const rule = said && pauseFor(said, provider.pauses)
  if (rule) return pausedFor(state, rule, signal, provider, now)
  if (said && asks?.kind === 'pause') {
    const says = signal.note.replace(/^it /, '')
    const asked = { text: null, enhanced: null, minutes: asks.minutes, slow: null, says }
    return pausedFor(state, asked, signal, provider, now)
  }
  return narrowed(state, signal.note, provider, now)
}

/** The first rule that fits a reply. */
function pauseFor(
  said: { enhanced: string | null; text: string },
  rules: readonly PauseRule[],
): PauseRule | undefined {
  // Bounded: the text is the remote's, and the patterns look back and forth in it.
  const text = said.text.slice(0, 2000).replaceAll(/\s+/g, ' ')
  return rules.find(
    (rule) =>
      (rule.text === null || rule.text.test(text)) &&
      (rule.enhanced === null || rule.enhanced.test(said.enhanced ?? '')),
  )
}

/** Pauses, and goes on with narrow limits, from which it grows again when their time is over. */
function pausedFor(
  state: LaneState,
  { minutes, slow, says }: PauseRule,
  { said }: Signal,
  { name }: Provider,
  now: number,
): LaneState {
  const until = now + minutes * minute
  const after = slow && slowed(slow, until)
  return {
    ...state,
    connections: after?.connections ?? Math.max(1, Math.floor(state.connections / 2)),
    rate: after?.messagesPerMinute ?? state.rate,
    clean: 0,
    cutAt: now,
    pause: minutes === 0 ? null : { at: now, until, by: 'reply' },
    slow: after,
    reason: `${name} answered ${shortened(said!)} at ${moment(now, now)}: it ${says}`,
    reasonAt: now,
  }
}

const slowed = ({ minutes, messagesPerMinute, connections }: Slow, from: number): LaneState['slow'] => ({
  until: from + minutes * minute,
  messagesPerMinute,
  connections,
})

/** Half the connections and half the pace: of what was sent last, for a limit that was never reached slows nothing down. */
function narrowed(state: LaneState, why: string, { limits, name }: Provider, now: number): LaneState {
  const { connections, rate } = allowed(state, limits, now)
  const pace = Math.max(state.pace.now, state.pace.minute === minuteOf(now) ? state.pace.before : 0)
  const half = Math.max(1, Math.floor(connections / 2))
  const slower = Math.min(
    limits.messagesPerMinute,
    Math.max(LEAST_RATE, Math.floor(Math.min(rate, pace) / 2)),
  )
  return {
    ...state,
    connections: half,
    rate: slower,
    clean: 0,
    cutAt: now,
    reason: `${name} gets less since ${moment(now, now)} (${counts(half, slower)}): ${why}`,
    reasonAt: now,
  }
}

function silenced(state: LaneState, signal: Signal, provider: Provider, now: number): LaneState {
  const silent = state.silent + 1
  const before = { ...state, silent }
  const late = signal.since < state.cutAt
  const cut = late ? before : narrowed(before, signal.note, provider, now)
  if (silent < SILENT_AFTER || late) return cut
  const length = Math.min(LONGEST_SILENCE, SILENCE * 2 ** (silent - SILENT_AFTER))
  return {
    ...cut,
    pause: { at: now, until: now + length, by: 'silence' },
    reason: `${provider.name} could not be reached ${silent} times in a row, the last time at ${moment(now, now)}: ${signal.note}`,
  }
}

/** A step up, when each connection was used once without complaint. */
function widened(state: LaneState, { limits, name }: Provider, now: number): LaneState {
  const { connections, rate } = allowed(state, limits, now)
  const full = state.connections >= limits.connections && state.rate >= limits.messagesPerMinute
  if (state.clean < connections || full || (state.slow !== null && now < state.slow.until)) return state
  const wider = Math.min(limits.connections, connections + 1)
  const faster = fasterRate(state, rate, limits, now)
  if (wider === connections && faster === rate) return state
  const whole = wider === limits.connections && faster === limits.messagesPerMinute
  const reason = whole
    ? `${name} takes mail at full pace`
    : `${name} takes mail again, and gets more step by step: ${counts(wider, faster)} by now`
  // A lane that never met trouble has nothing to tell.
  const told = state.reason === null ? {} : { reason, reasonAt: now }
  const fasterAt = faster > rate ? now : state.fasterAt
  return { ...state, connections: wider, rate: faster, fasterAt, clean: 0, slow: null, ...told }
}

/** The rate after a step, when the last change of it is long enough ago. */
function fasterRate({ fasterAt, cutAt }: LaneState, rate: number, limits: Limits, now: number): number {
  const changedAt = Math.max(fasterAt, cutAt)
  // A clock that was set back must not stop it for hours.
  if (now >= changedAt && now - changedAt < RATE_STEP_MS) return rate
  const step = Math.max(LEAST_RATE, Math.ceil(limits.messagesPerMinute * RATE_STEP))
  return Math.min(limits.messagesPerMinute, rate + step)
}

function counts(connections: number, rate: number): string {
  return `${connections === 1 ? '1 connection' : `${connections} connections`}, ${rate} messages a minute`
}

const minuteOf = (now: number): number => Math.floor(now / minute)

function counted(pace: LaneState['pace'], now: number): LaneState['pace'] {
  const current = minuteOf(now)
  if (pace.minute === current) return { ...pace, now: pace.now + 1 }
  return { minute: current, now: 1, before: pace.minute === current - 1 ? pace.now : 0 }
}

/** A reply in a few words: what stands in brackets names the case (`TSS04`), else the first words. */
function shortened({ code, enhanced, text }: NonNullable<Signal['said']>): string {
  const named = /\[([A-Z]{1,5}\d{1,4})\]/.exec(text)?.[1]
  if (named !== undefined) return named
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const words = line.length > 80 ? `${line.slice(0, 79)}…` : line
  return `"${[code, enhanced, words].filter((part) => part !== null && part !== '').join(' ')}"`
}
