import type { Failure, RecipientResult } from './outcome.ts'

/**
 * Whether to try the next IP for this recipient in the same attempt (RFC 5321 §5.1): if the conversation failed before
 * the server replied about the recipient. Never after the final dot, because the server may have accepted the message.
 */
export function shouldTryNextHost(fate: RecipientResult): boolean {
  if (fate.kind === 'accepted' || fate.failure.phase === 'body') return false
  const { kind, phase, reply } = fate.failure
  switch (kind) {
    case 'reply':
      if (reply?.code === 421) return true // the host is closing, which says nothing about the recipient
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
 * Ranks a failure by how much it says about the recipient: a reply about the recipient, any other reply, or no reply. A
 * server without REQUIRETLS ranks lowest, because the failure is final only if no server supports it, and an
 * unreachable one may.
 */
function weight({ kind, reply, phase }: Failure): number {
  if (kind === 'requiretls') return -1
  if (!reply) return 0
  return ['mail', 'rcpt', 'data'].includes(phase) ? 2 : 1
}

/**
 * Picks the most informative result among several IPs: the one that ended the search, else the highest-ranked one, else
 * that of the first host.
 */
export function pickMoreConclusiveResult(
  before: RecipientResult | undefined,
  now: RecipientResult,
): RecipientResult {
  if (before?.kind !== 'failed' || now.kind === 'accepted' || !shouldTryNextHost(now)) return now
  return weight(now.failure) > weight(before.failure) ? now : before
}
