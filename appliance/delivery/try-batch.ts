import { getSteadyTime } from '../clock/clock.ts'
import type { Reply } from '../mail/reply.ts'
import type { Host } from './hosts.ts'
import type { SignedMessage } from './signed-message.ts'
import type { RecipientResult, Failure, Outcome } from './outcome.ts'
import { listHostAddresses, tryHosts, type TryHostsDeps, type TryHostsResult } from './try-hosts.ts'

/**
 * Sends a message to all recipients, in as many transactions on a kept connection as the provider's
 * `recipients_per_message` and the server's own limit require (RFC 5321 §4.5.3.1.8, §4.5.3.1.10). Each counts as a
 * message for the lane. Recipients without a result weren't tried, and wait for another permit.
 */
export async function sendToAllRecipients(
  signed: SignedMessage,
  recipients: string[],
  hosts: Host[],
  deps: TryHostsDeps,
): Promise<TryHostsResult> {
  const { clock, permit, until } = deps
  const all: TryHostsResult = { outcome: new Map(), tls: null, seen: [] }
  const known = deps.connections.memory.mostRecipients(listHostAddresses(hosts, permit.source), clock.now())
  let most = Math.min(permit.limits.recipientsPerMessage, known)
  let left = recipients
  for (;;) {
    const walked = await tryHosts(signed, left.slice(0, most), hosts, deps)
    const surplus = surplusOf(walked.outcome)
    add(all, walked, surplus)
    most = Math.max(1, Math.min(most, walked.outcome.size - surplus.size))
    left = left.filter((recipient) => !all.outcome.has(recipient))
    if (left.length === 0 || walked.outcome.size === 0) return all
    const failure = generalFailure(walked.outcome)
    if (failure) {
      for (const recipient of left) all.outcome.set(recipient, { kind: 'failed', failure })
      return all
    }
    if (getSteadyTime(clock) >= until || !permit.another()) return all
  }
}

/**
 * Whether a server refuses because the message has too many recipients. RFC 821 used 552 for that (RFC 5321
 * §4.5.3.1.10).
 */
function isTooMany({ code, enhanced, text }: Reply): boolean {
  if (code !== 452 && code !== 552) return false
  // Too many recipients (RFC 3463 §3.6, X.5.3). Without an enhanced code, only the text distinguishes it from a full
  // disk.
  return enhanced === null ? /too many (recipients|rcpts)/i.test(text) : /^[45]\.5\.3$/.test(enhanced)
}

/**
 * Finds recipients refused only because there were too many: the server accepted the message for other recipients, and
 * will accept another copy for these.
 */
function surplusOf(outcome: Outcome): Set<string> {
  const fates = [...outcome]
  if (!fates.some(([, { kind }]) => kind === 'accepted')) return new Set()
  const isSurplus = (fate: RecipientResult): boolean => {
    if (fate.kind === 'accepted') return false
    const { phase, reply } = fate.failure
    return phase === 'rcpt' && reply !== null && isTooMany(reply)
  }
  return new Set(fates.filter(([, fate]) => isSurplus(fate)).map(([recipient]) => recipient))
}

function add(
  all: TryHostsResult,
  { outcome, tls, seen }: TryHostsResult,
  surplus: ReadonlySet<string>,
): void {
  all.tls = tls
  for (const [recipient, fate] of outcome) if (!surplus.has(recipient)) all.outcome.set(recipient, fate)
  // Such a refusal isn't an objection either, so the lane must not react to it.
  all.seen.push(...seen.filter(({ recipient }) => !surplus.has(recipient)))
}

/**
 * Whether a result is about more than one recipient. A reply to RCPT isn't; one to the message may be about a
 * recipient, because some servers check recipients only then.
 */
function isGeneral(fate: RecipientResult): boolean {
  if (fate.kind === 'accepted') return false
  const { kind, phase, reply } = fate.failure
  if (phase !== 'rcpt' && phase !== 'data' && phase !== 'body') return true
  return reply === null ? kind !== 'unsupported' : reply.code === 421
}

/**
 * Returns the failure that applied to every recipient for a general reason. It applies to the remaining recipients,
 * too, so they need not be tried.
 */
function generalFailure(outcome: Outcome): Failure | undefined {
  const fates = [...outcome.values()]
  const [first] = fates
  if (first?.kind !== 'failed' || !fates.every(isGeneral)) return undefined
  const { note } = first.failure
  return {
    ...first.failure,
    note: `Not attempted, because it failed for other recipients of this message: ${note}`,
  }
}
