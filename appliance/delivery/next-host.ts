import type { Failure, Fate } from './outcome.ts'

/**
 * Whether the next address is to be tried for this recipient in the same attempt (RFC 5321 §5.1): when the conversation failed before
 * the server said a word about the recipient, and never after the final dot, when it may have taken the message.
 */
export function carriesOn(fate: Fate): boolean {
  if (fate.kind === 'accepted' || fate.failure.phase === 'body') return false
  const { kind, phase, reply } = fate.failure
  switch (kind) {
    case 'reply':
      if (reply?.code === 421) return true // this host closes; that is no answer about the recipient
      if (phase === 'mail') return (reply?.code ?? 0) < 500
      return phase !== 'rcpt' && phase !== 'data'
    case 'network':
    case 'timeout':
    case 'protocol':
    case 'tls':
    case 'requiretls':
    case 'internal':
      return true
    case 'dns':
    case 'no-route':
    case 'forbidden':
    case 'unsupported':
    case 'gone':
    case 'stopped':
      return false
  }
}

/**
 * How much a failure tells: a word about the recipient, any word, or none. Least that a server cannot keep REQUIRETLS: it is the
 * last word only when it is true of every server, and one that was out of reach may be able to.
 */
function weight({ kind, reply, phase }: Failure): number {
  if (kind === 'requiretls') return -1
  if (!reply) return 0
  return ['mail', 'rcpt', 'data'].includes(phase) ? 2 : 1
}

/** Of the fates at several addresses the one to judge: the one that ended the search, else what tells most, else the first host's. */
export function moreTelling(before: Fate | undefined, now: Fate): Fate {
  if (before?.kind !== 'failed' || now.kind === 'accepted' || !carriesOn(now)) return now
  return weight(now.failure) > weight(before.failure) ? now : before
}
