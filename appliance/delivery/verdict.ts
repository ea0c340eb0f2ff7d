import type { BounceCategory, BounceSubtype } from '../mail/bounce.ts'
import type { Reply } from '../mail/reply.ts'
import type { Cause, Verdict } from '../mail/verdict.ts'
import { INTERRUPTED_DELAY, computeNextAttempt } from '../queue/schedule.ts'
import type { Classification, Classify } from '../mail/classify.ts'
import type { Failure, RecipientResult } from './outcome.ts'

/** Facts about a delivery that the verdict on this attempt depends on. Times in Unix milliseconds. */
export interface DeliveryFacts {
  recipient: string
  /** Id of the recipient domain's mailbox provider, if known. */
  provider?: string | null | undefined
  /** Number of attempts so far, including this one. */
  attempts: number
  createdAt: number
  expiresAt: number
}

/** The context in which a result is evaluated. */
export interface VerdictContext {
  /** Classifies replies. */
  classify: Classify
  /** Whether the transaction had no other recipient, so that a reply about the message is about this recipient. */
  alone: boolean
  /** Random number in [0, 1) that varies the time of the next attempt. */
  random: number
}

/** The reason for a failure, with its category. */
interface Finding {
  cause: Cause
  subType: BounceSubtype
  /** Whether the server had too many connections, and hasn't seen the message. */
  crowded?: boolean
}

/**
 * Decides what an attempt means for a delivery. Pure.
 *
 * 4xx is retried whatever its text says: a wrong bounce costs the sender a customer, a useless retry costs a
 * connection. 5xx is final, unless it came before a recipient was named, or is about us or temporary
 * (config/bounces.toml).
 */
export function decideVerdict(
  fate: RecipientResult,
  history: DeliveryFacts,
  now: number,
  bench: VerdictContext,
): Verdict {
  if (fate.kind === 'accepted') {
    const { host, ip, reply } = fate
    return {
      kind: 'delivered',
      cause: { phase: 'body', host, ip, reply, note: `${host} accepted the message.` },
    }
  }
  const { failure } = fate
  if (failure.kind === 'reply' && failure.reply)
    return judgeReply(failure, failure.reply, history, now, bench)
  const own = ownFinding(failure)
  switch (failure.kind) {
    case 'no-route':
    case 'requiretls':
    case 'unsupported':
      return { kind: 'bounced', ...own, suppress: own.cause.category === 'recipient' }
    case 'forbidden':
    case 'gone':
      return { kind: 'failed', cause: own.cause }
    case 'stopped':
      return interrupted(own.cause, history, now, bench.random)
    case 'reply':
    case 'dns':
    case 'network':
    case 'timeout':
    case 'protocol':
    case 'tls':
    case 'internal':
      return later(own, history, now, bench.random)
  }
}

function judgeReply(
  { phase, host, ip }: Failure,
  reply: Reply,
  history: DeliveryFacts,
  now: number,
  { classify, alone, random }: VerdictContext,
): Verdict {
  const { recipient, provider } = history
  const found = classify(reply, { phase, provider })
  const { action, category, subType, advice } = found
  const note = explain(found, reply, host ?? 'The server')
  const cause: Cause = { phase, host, ip, reply, category, note, ...(advice && { advice }) }
  const crowded = found.shaping?.kind === 'connections'
  if (action === 'defer') return later({ cause, subType, crowded }, history, now, random)
  const itsOwn = phase === 'rcpt' || alone || reply.text.toLowerCase().includes(recipient.toLowerCase())
  return { kind: 'bounced', cause, subType, suppress: action === 'suppress' && itsOwn }
}

/** Returns a deferral, or expiry when the next attempt would come after the retry period (RFC 5321 §4.5.4.1). */
function later(
  { cause, subType, crowded }: Finding,
  { attempts, expiresAt }: DeliveryFacts,
  now: number,
  random: number,
): Verdict {
  const until = computeNextAttempt(attempts, now, random, crowded)
  return until > expiresAt ? { kind: 'expired', cause, subType } : { kind: 'deferred', until, cause }
}

/**
 * Returns a deferral because this server stopped. The next attempt comes soon after the restart, and the delivery
 * doesn't expire because of it. If the body was being sent, it may have arrived; then only a first attempt is repeated
 * soon, as after a crash.
 */
function interrupted(cause: Cause, { attempts }: DeliveryFacts, now: number, random: number): Verdict {
  const soon = attempts === 1 || cause.phase !== 'body'
  const until = soon ? now + INTERRUPTED_DELAY : computeNextAttempt(attempts, now, random)
  return { kind: 'deferred', until, cause, interrupted: true }
}

/** Categories of failures that no server reported. */
const OWN: Record<Failure['kind'], BounceCategory> = {
  reply: 'temporary',
  dns: 'dns',
  'no-route': 'dns',
  network: 'network',
  timeout: 'network',
  protocol: 'network',
  tls: 'tls',
  requiretls: 'tls',
  forbidden: 'policy',
  unsupported: 'policy',
  internal: 'temporary',
  gone: 'policy',
  stopped: 'temporary',
}

/**
 * Categories by enhanced status code (RFC 3463, RFC 7505 §4.2). A domain that doesn't exist suppresses no one, because
 * domains lapse and come back. A null MX is the domain's own statement.
 */
const OWN_STATUS: Record<string, { category?: BounceCategory; subType: BounceSubtype }> = {
  '5.1.2': { subType: 'NoEmail' },
  '5.1.3': { subType: 'NoEmail' },
  '5.1.10': { category: 'recipient', subType: 'NoEmail' },
  '5.3.4': { category: 'size', subType: 'MessageTooLarge' },
}

function ownFinding({ kind, phase, host, ip, reply, status, note }: Failure): Finding {
  const known = OWN_STATUS[status ?? '']
  const category = known?.category ?? OWN[kind]
  const cause = { phase, host, ip, reply, ...(status === undefined ? {} : { status }), category, note }
  return { cause, subType: known?.subType ?? 'General' }
}

/** Explains the reply in a sentence for people. */
function explain({ says, action }: Classification, { code }: Reply, host: string): string {
  const insists = code >= 500 && action === 'defer'
  return `${host} ${says}.${insists ? ' The reply is permanent, but Posthaste retries in case that changes.' : ''}`
}
