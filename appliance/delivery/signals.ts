import type { Signal, SignalKind } from '../shaping/shaping.ts'
import type { Classify } from '../mail/classify.ts'
import type { Failure, RecipientResult } from './outcome.ts'

/** A signal that an attempt gives to its lane. */
export type LaneSignal = Omit<Signal, 'since'>

/** The result for one recipient at one IP. */
export interface RecipientObservation {
  recipient: string
  fate: RecipientResult
}

/**
 * Converts the results of an attempt to signals for its lane: one for all recipients with the same reply, objections
 * first. A missing response counts only when no IP responded. Pure.
 */
export function toLaneSignals(
  seen: readonly RecipientObservation[],
  provider: string,
  classify: Classify,
): LaneSignal[] {
  const signals = new Map<string, LaneSignal>()
  for (const { fate } of seen) {
    const signal = fate.kind === 'accepted' ? TAKEN : signalOf(fate.failure, provider, classify)
    const key = `${signal.kind} ${signal.note}`
    const same = signals.get(key)
    signals.set(key, { ...signal, recipients: (same?.recipients ?? 0) + 1 })
  }
  const all = [...signals.values()]
  const reached = all.some(({ kind }) => kind !== 'silent')
  return all.filter(({ kind }) => !reached || kind !== 'silent').sort((a, b) => ORDER[a.kind] - ORDER[b.kind])
}

const TAKEN: LaneSignal = { kind: 'taken', said: null, note: '', recipients: 1, final: true }

/** Order of signals: objections come before acceptances in the same conversation. */
const ORDER: Record<SignalKind, number> = { reputation: 0, slower: 1, silent: 2, neutral: 3, taken: 4 }

function signalOf(failure: Failure, provider: string, classify: Classify): LaneSignal {
  const { kind, phase, reply, note } = failure
  const none: LaneSignal = { kind: 'neutral', said: null, note, recipients: 1, final: false }
  if (kind === 'network' || kind === 'timeout')
    return { ...none, kind: phase === 'connect' || phase === 'greeting' ? 'silent' : 'slower' }
  if (kind !== 'reply' || reply === null) return none
  const { action, category, says, shaping } = classify(reply, { phase, provider })
  const said = { code: reply.code, enhanced: reply.enhanced, text: reply.text }
  const told: LaneSignal = {
    ...none,
    said,
    final: action !== 'defer',
    note: `it ${says}`,
    ...(shaping && { asks: shaping }),
  }
  if (category === 'reputation') return { ...told, kind: 'reputation' }
  // 421 closes the channel (RFC 5321 §4.2.3), so it is never about a single recipient.
  const general = reply.code === 421 || (category === 'temporary' && phase !== 'rcpt')
  return { ...told, kind: category === 'quota' || shaping || general ? 'slower' : 'neutral' }
}
