import type { Signal, SignalKind } from '../shaping/shaping.ts'
import type { Classify } from '../mail/classify.ts'
import type { Failure, Fate } from './outcome.ts'

/** What a lane learns of an attempt. */
export type Learnt = Omit<Signal, 'since'>

/** A fate at one address, of one recipient. */
export interface Seen {
  recipient: string
  fate: Fate
}

/**
 * What an attempt tells its lane; pure. One signal for all recipients that were told the same, complaints first. That nobody answered
 * at one address counts only when nobody answered at any.
 */
export function signalsOf(seen: readonly Seen[], provider: string, classify: Classify): Learnt[] {
  const signals = new Map<string, Learnt>()
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

const TAKEN: Learnt = { kind: 'taken', said: null, note: '', recipients: 1, final: true }

/** A complaint goes before the thanks of the same conversation. */
const ORDER: Record<SignalKind, number> = { reputation: 0, slower: 1, silent: 2, neutral: 3, taken: 4 }

function signalOf(failure: Failure, provider: string, classify: Classify): Learnt {
  const { kind, phase, reply, note } = failure
  const none: Learnt = { kind: 'neutral', said: null, note, recipients: 1, final: false }
  if (kind === 'network' || kind === 'timeout')
    return { ...none, kind: phase === 'connect' || phase === 'greeting' ? 'silent' : 'slower' }
  if (kind !== 'reply' || reply === null) return none
  const { action, category, says, shaping } = classify(reply, { phase, provider })
  const said = { code: reply.code, enhanced: reply.enhanced, text: reply.text }
  const told: Learnt = {
    ...none,
    said,
    final: action !== 'defer',
    note: `it ${says}`,
    ...(shaping && { asks: shaping }),
  }
  if (category === 'reputation') return { ...told, kind: 'reputation' }
  // 421 closes the channel (RFC 5321 §4.2.3): it is never about one recipient.
  const general = reply.code === 421 || (category === 'temporary' && phase !== 'rcpt')
  return { ...told, kind: category === 'quota' || shaping || general ? 'slower' : 'neutral' }
}
