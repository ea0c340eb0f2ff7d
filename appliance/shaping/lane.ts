/**
 * The state machine of a lane, which controls how much is sent from one IP to one provider. Pure; times in Unix
 * milliseconds.
 *
 * The number of connections grows by additive increase and shrinks by multiplicative decrease, once per group of
 * concurrent conversations. The lane remembers how many connections were too many for the provider. The number of
 * messages per minute is determined in pace.ts. Replies listed in the providers table pause the lane.
 */
import type { LaneReason } from '../mail/waiting.ts'
import type { Limits } from './settings.ts'
import {
  recordAcceptance,
  getTestRate,
  createPace,
  recordMessageStart,
  recordRefusal,
  resetPace,
} from './pace.ts'
import type { PauseRule, Provider, ReducedLimits } from './providers.ts'
import { computeNextAvailableTime, countAvailableNow, recordMessage } from './rate.ts'
import { type LaneState, type Signal } from './lane-state.ts'

/** Initial number of connections of a lane, as in Postfix. It grows with accepted mail. */
const FIRST_CONNECTIONS = 5
/** A rate higher than every limit, so that the provider's own limit applies. */
const WHOLE_RATE = 1_000_000
/** Maximum time to avoid a number of connections that was too high, in milliseconds. */
const LONGEST_AVOIDED = 60 * 60_000
const CROWDED_KNOWN = 6 * 60 * 60_000
/**
 * Maximum time that an open connection waits before MAIL, in milliseconds. A message that would wait longer returns to
 * the queue.
 */
const LONGEST_TURN = 10_000
/** Number of consecutive attempts without any response after which the lane pauses. */
const SILENT_AFTER = 5
const SILENCE = 60_000
const LONGEST_SILENCE = 15 * 60_000

const minute = 60_000

/** Maximum length of a reply stored as a reason. */
const MAX_TEXT = 500

/** Creates the state of an unused lane. */
export function createLaneState(limits: Limits): LaneState {
  return {
    connections: Math.min(FIRST_CONNECTIONS, limits.connections),
    crowded: null,
    pace: createPace(limits.messagesPerMinute),
    next: 0,
    nextMail: 0,
    clean: 0,
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

/** Returns the lane's current limits, from its state, the provider's limits, and reduced limits after a pause. */
export function getCurrentLimits(
  { connections, pace, slow }: LaneState,
  limits: Limits,
  now: number,
): { connections: number; rate: number } {
  const narrow = slow !== null && now < slow.until ? slow : null
  return {
    connections: Math.max(
      1,
      Math.min(Math.floor(connections), limits.connections, narrow?.connections ?? Infinity),
    ),
    rate: Math.max(1, Math.min(pace.rate, limits.messagesPerMinute, narrow?.messagesPerMinute ?? Infinity)),
  }
}

/** Whether a lane is paused now. */
export function isPaused({ pause }: LaneState, now: number): boolean {
  return pause !== null && (pause.until === null || now < pause.until)
}

/**
 * Returns how many more messages may start now.
 * @param open number of connections with a message in progress
 */
export function availableCapacity(state: LaneState, limits: Limits, open: number, now: number): number {
  if (isPaused(state, now)) return 0
  const { connections, rate } = getCurrentLimits(state, limits, now)
  const { refused: refusal } = state.pace
  const free = countAvailableNow(state.next, rate, now)
  const most = refusal === null ? free : Math.min(free, now < refusal.askAt ? 0 : 1)
  return Math.max(0, Math.min(connections - open, most))
}

/** Returns messages per minute as shown to people; while the provider refuses mail, the rate of test messages. */
export function getDisplayRate(state: LaneState, limits: Limits, now: number): number {
  const { rate } = getCurrentLimits(state, limits, now)
  return Math.max(1, Math.round(Math.min(rate, getTestRate(state.pace))))
}

/**
 * Returns when a lane that is blocked by something other than its connections continues; null if an operator has to end
 * the pause.
 */
export function computeResumeTime(state: LaneState, now: number): number | null {
  if (isPaused(state, now)) return state.pause!.until
  return Math.max(computeNextAvailableTime(state.next, now), state.pace.refused?.askAt ?? 0)
}

/** Records that a message was admitted. */
export function recordStart(state: LaneState, limits: Limits, now: number): LaneState {
  const { rate } = getCurrentLimits(state, limits, now)
  return { ...state, next: recordMessage(state.next, rate, now), pace: recordMessageStart(state.pace, now) }
}

/**
 * Returns how long a message admitted at `since` has to wait before MAIL, in milliseconds; null if it must be admitted
 * again. Hosts take different times to greet, and providers count MAIL commands.
 */
export function computeMailWait(state: LaneState, since: number, now: number): number | null {
  if (isPaused(state, now) || (state.pace.refused !== null && since < state.cutAt)) return null
  const wait = computeNextAvailableTime(state.nextMail, now) - now
  return wait > LONGEST_TURN ? null : wait
}

/** Records a MAIL command. */
export function recordMailCommand(state: LaneState, limits: Limits, now: number): LaneState {
  const { rate } = getCurrentLimits(state, limits, now)
  const nextMail = recordMessage(state.nextMail, rate, now)
  // A message offered to several hosts causes several MAIL commands.
  return { ...state, nextMail, next: Math.max(state.next, nextMail) }
}

/**
 * Pauses the lane for an operator.
 * @param until null for a pause that lasts until it is ended
 */
export function pauseManually(state: LaneState, until: number | null, now: number): LaneState {
  const reason: LaneReason = { key: 'paused_by_operator' }
  return { ...state, pause: { at: now, until, by: 'operator' }, reason, reasonAt: now }
}

/** Ends a pause and its reduced limits for an operator: the lane starts again with its initial limits. */
export function resumeManually(state: LaneState, now: number): LaneState {
  return {
    ...state,
    connections: FIRST_CONNECTIONS,
    crowded: null,
    pace: resetPace(state.pace, WHOLE_RATE, now),
    clean: 0,
    cutAt: now,
    pause: null,
    slow: null,
    silent: 0,
    reason: { key: 'resumed_by_operator' },
    reasonAt: now,
  }
}

/** Returns the state after a conversation. */
export function applySignal(state: LaneState, signal: Signal, provider: Provider, now: number): LaneState {
  switch (signal.kind) {
    case 'taken':
      return widened({ ...state, silent: 0, clean: state.clean + 1 }, signal.since, provider, now)
    case 'neutral':
      // The providers table may list a reply that is otherwise neutral.
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
  if (rule) return pausedFor(state, rule, signal, now)
  if (said && asks?.kind === 'pause') {
    const says = signal.note.replace(/^it /, '')
    const asked = { text: null, enhanced: null, minutes: asks.minutes, slow: null, says }
    return pausedFor(state, asked, signal, now)
  }
  if (asks?.kind === 'connections')
    return crowdedOut(state, asks.minutes * minute, signal.note, provider, now)
  return slowedDown(state, asks ? asks.minutes * minute : null, signal.note, now)
}

/** Finds the first matching pause rule. */
function pauseFor(
  said: { enhanced: string | null; text: string },
  rules: readonly PauseRule[],
): PauseRule | undefined {
  // Limited in length, because the patterns search text from a remote server.
  const text = said.text.slice(0, 2000).replaceAll(/\s+/g, ' ')
  return rules.find(
    (rule) =>
      (rule.text === null || rule.text.test(text)) &&
      (rule.enhanced === null || rule.enhanced.test(said.enhanced ?? '')),
  )
}

/** Pauses the lane. Afterwards it continues with reduced limits for some time, and then grows from there. */
function pausedFor(
  state: LaneState,
  { minutes, slow, says }: PauseRule,
  { said }: Signal,
  now: number,
): LaneState {
  const until = now + minutes * minute
  const after = slow && slowed(slow, until)
  return {
    ...state,
    connections: after?.connections ?? Math.max(1, Math.floor(state.connections / 2)),
    pace: after ? resetPace(state.pace, after.messagesPerMinute, now) : state.pace,
    clean: 0,
    cutAt: now,
    pause: minutes === 0 ? null : { at: now, until, by: 'reply' },
    slow: after,
    reason: { key: 'answered', reply: { ...said!, text: said!.text.slice(0, MAX_TEXT) }, says },
    reasonAt: now,
  }
}

const slowed = (
  { minutes, messagesPerMinute, connections }: ReducedLimits,
  from: number,
): LaneState['slow'] => ({
  until: from + minutes * minute,
  messagesPerMinute,
  connections,
})

/** Halves the connections, and stops sending until the provider accepts mail again. */
function slowedDown(state: LaneState, holdMs: number | null, note: string, now: number): LaneState {
  return {
    ...state,
    connections: Math.max(1, Math.floor(state.connections / 2)),
    pace: recordRefusal(state.pace, holdMs, now),
    clean: 0,
    cutAt: now,
    reason: { key: 'one_at_a_time', note },
    reasonAt: now,
  }
}

/** Halves the connections without changing the pace. */
function fewerConnections(state: LaneState, note: string, { limits }: Provider, now: number): LaneState {
  const { connections } = getCurrentLimits(state, limits, now)
  const half = Math.max(1, Math.floor(connections / 2))
  const reason: LaneReason = { key: 'fewer_connections', connections: half, note }
  return { ...state, connections: half, clean: 0, cutAt: now, reason, reasonAt: now }
}

/**
 * Halves the connections because there were too many. The lane avoids the previous number for some time, longer each
 * time.
 */
function crowdedOut(
  state: LaneState,
  holdMs: number,
  why: string,
  provider: Provider,
  now: number,
): LaneState {
  const { connections } = getCurrentLimits(state, provider.limits, now)
  const known = knownCrowd(state, now)
  const longer = known ? Math.max(holdMs, Math.min(LONGEST_AVOIDED, 2 * known.holdMs)) : holdMs
  const crowded = { most: Math.max(1, connections - 1), at: now, holdMs: longer }
  return { ...fewerConnections(state, why, provider, now), crowded }
}

const knownCrowd = ({ crowded }: LaneState, now: number): LaneState['crowded'] =>
  crowded && now - crowded.at < CROWDED_KNOWN ? crowded : null

function silenced(state: LaneState, signal: Signal, provider: Provider, now: number): LaneState {
  const silent = state.silent + 1
  const before = { ...state, silent }
  const late = signal.since < state.cutAt
  const cut = late ? before : fewerConnections(before, signal.note, provider, now)
  if (silent < SILENT_AFTER || late) return cut
  const length = Math.min(LONGEST_SILENCE, SILENCE * 2 ** (silent - SILENT_AFTER))
  return {
    ...cut,
    pause: { at: now, until: now + length, by: 'silence' },
    reason: { key: 'unreachable', attempts: silent, note: signal.note },
  }
}

/** After an accepted message, increases the limits that are due for an increase. */
function widened(state: LaneState, since: number, provider: Provider, now: number): LaneState {
  const { limits } = provider
  // Keep reduced limits until their time is over.
  const narrow = state.slow !== null && now < state.slow.until
  const most = narrow
    ? Math.min(limits.messagesPerMinute, state.slow!.messagesPerMinute)
    : limits.messagesPerMinute
  const pace = recordAcceptance(state.pace, since, most, now)
  if (narrow) return { ...state, pace }
  const { connections } = getCurrentLimits(state, limits, now)
  const wider = state.clean < connections ? connections : moreConnections(state, connections, limits, now)
  const changed = wider > connections || pace.changedAt !== state.pace.changedAt
  if (!changed) return { ...state, pace }
  const after = {
    ...state,
    connections: wider,
    pace,
    slow: null,
    clean: wider > connections ? 0 : state.clean,
  }
  // A lane that never had problems has no reason to show.
  return state.reason === null ? after : { ...after, reason: recovered(after, provider, now), reasonAt: now }
}

function moreConnections(state: LaneState, connections: number, limits: Limits, now: number): number {
  const known = knownCrowd(state, now)
  const most =
    known && now - known.at < known.holdMs ? Math.min(known.most, limits.connections) : limits.connections
  return Math.max(connections, Math.min(most, connections + 1))
}

function recovered(state: LaneState, { limits }: Provider, now: number): LaneReason {
  const { connections, rate } = getCurrentLimits(state, limits, now)
  if (connections >= limits.connections && rate >= limits.messagesPerMinute) return { key: 'recovered' }
  return { key: 'recovering', connections, rate: getDisplayRate(state, limits, now) }
}
