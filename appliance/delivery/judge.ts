import type { Reply } from '../mail/reply.ts'
import type { Cause, Phase, Verdict } from '../mail/verdict.ts'
import { nextAttemptAt } from '../spool/schedule.ts'
import type { Failure, Fate } from './outcome.ts'
import { type Rule, ruleFor } from './reply-rules.ts'

/** What is known of a delivery before this attempt is judged. Times in Unix milliseconds. */
export interface History {
  /** Attempts including the one that is judged. */
  attempts: number
  createdAt: number
  expiresAt: number
}

/**
 * What an attempt means for a delivery. Pure.
 *
 * 4xx is tried again whatever its text says: a wrong bounce costs the sender a customer, a useless retry costs a connection. 5xx is the
 * last word, unless it was said before any recipient was named, or is about us or about the moment (reply-rules.ts).
 * @param random the dice for the next time, in [0, 1)
 */
export function judge(fate: Fate, history: History, now: number, random: number): Verdict {
  if (fate.kind === 'accepted') {
    const { host, ip, reply } = fate
    return { kind: 'delivered', cause: { phase: 'body', host, ip, reply, note: `${host} took the message.` } }
  }
  const { failure } = fate
  const cause = causeOf(failure)
  switch (failure.kind) {
    case 'no-route':
    case 'requiretls':
    case 'unsupported':
      return { kind: 'bounced', cause }
    case 'forbidden':
    case 'gone':
      return { kind: 'failed', cause }
    case 'reply':
      return failure.reply && isFinal(failure.reply, failure.phase)
        ? { kind: 'bounced', cause }
        : later(cause, history, now, random)
    case 'dns':
    case 'network':
    case 'timeout':
    case 'protocol':
    case 'tls':
    case 'internal':
      return later(cause, history, now, random)
  }
}

/** Deferred; or expired, when the next attempt would come after the delivery's time is up (RFC 5321 §4.5.4.1). */
function later(cause: Cause, { attempts, expiresAt }: History, now: number, random: number): Verdict {
  const until = nextAttemptAt(attempts, now, random)
  return until > expiresAt ? { kind: 'expired', cause } : { kind: 'deferred', until, cause }
}

/** Replies said before MAIL are about us or the server, never about the recipient. */
const BEFORE_MAIL: readonly Phase[] = ['connect', 'greeting', 'ehlo', 'starttls']

/** Whether a reply is the server's last word on the recipient. */
function isFinal(reply: Reply, phase: Phase): boolean {
  if (reply.code < 500 || BEFORE_MAIL.includes(phase)) return false
  if (reply.enhanced?.startsWith('4')) return false // "552 4.2.2": of two words the one that does no harm
  const rule = ruleFor(reply)
  // RFC 5321 §4.5.3.1.10: 552 to RCPT means what 452 means, too many recipients or no room.
  if (reply.code === 552 && phase === 'rcpt') return rule?.topic === 'too-large'
  return !rule?.passes
}

function causeOf(failure: Failure): Cause {
  const { phase, host, ip, reply, status } = failure
  const note = failure.kind === 'reply' && reply ? explain(reply, phase, host ?? 'The server') : failure.note
  return { phase, host, ip, reply, ...(status === undefined ? {} : { status }), note }
}

/** What was refused, where the text of the reply does not tell more. */
const REFUSED: Partial<Record<Phase, string>> = {
  mail: 'the sender',
  rcpt: 'the recipient',
  data: 'the message',
  body: 'the message',
}

/** The reply in a sentence for people. */
function explain(reply: Reply, phase: Phase, host: string): string {
  const rule: Rule | undefined = ruleFor(reply)
  const what = REFUSED[phase] ?? 'to talk to this server'
  const says = rule?.says ?? (reply.code < 500 ? `cannot take the message at the moment` : `refuses ${what}`)
  const insists = reply.code >= 500 && !isFinal(reply, phase)
  return `${host} ${says}.${insists ? ' The reply says "never"; it is tried again, as this may pass.' : ''}`
}
