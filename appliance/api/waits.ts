/** Finds the delays in the history of a delivery and explains them. Pure. */
import type { Step } from '../mail/transcript.ts'
import type { Attempt, Delivery, EmailHistory } from '../storage/storage.ts'
import { MIN_SHOWN_WAIT, type PastWaitReason } from '../mail/waiting.ts'

/** A period in which a delivery waited. Times in Unix milliseconds. */
export interface Wait {
  deliveryId: string
  from: number
  until: number
  reason: PastWaitReason
  /** Explanation, as the end of the sentence "Waited 35 s: …". */
  why: string
}

/** Returns the delays before each attempt, in the order of the deliveries. */
export const listWaits = ({ deliveries, attempts }: Pick<EmailHistory, 'deliveries' | 'attempts'>): Wait[] =>
  deliveries.flatMap((delivery) => {
    const own = attempts
      .filter(({ deliveryIds }) => deliveryIds.includes(delivery.id))
      .sort((a, b) => a.startedAt - b.startedAt)
    return own
      .flatMap((attempt, at) => waitsBefore(attempt, own[at - 1], delivery))
      .filter(({ from, until }) => until - from >= MIN_SHOWN_WAIT)
      .map((wait) => ({ deliveryId: delivery.id, ...wait }))
  })

type Part = Omit<Wait, 'deliveryId'>

/** Returns the planned delay first, such as the sender's scheduled time, then the delay after it. */
function waitsBefore(
  { startedAt, transcript }: Attempt,
  before: Attempt | undefined,
  delivery: Delivery,
): Part[] {
  const from = before?.endedAt ?? delivery.createdAt
  const chosen = before ? null : delivery.scheduledAt
  const scheduled = Math.min(chosen ?? from, startedAt)
  const { waited } = transcript
  const due = Math.min(Math.max(waited?.since ?? (before ? startedAt : scheduled), scheduled), startedAt)
  return [
    { from, until: scheduled, reason: 'scheduled', why: 'scheduled by the sender' },
    { from: scheduled, until: due, ...whyRetried(before, delivery) },
    {
      from: due,
      until: startedAt,
      reason: waited?.reason ?? 'unknown',
      why: waited?.why ?? 'the reason was not recorded',
    },
  ]
}

/** Matches the replies of servers that use greylisting (RFC 6647 §2.1). */
const GREY = /gr[ae]y.?list/i

/** Explains why there is another attempt. */
function whyRetried(before: Attempt | undefined, { recipient }: Delivery): Pick<Wait, 'reason' | 'why'> {
  if (!before) return { reason: 'interrupted', why: 'a restart interrupted the previous attempt' }
  const grey = before.transcript.steps.find((step) => isGrey(step, recipient))
  return grey
    ? { reason: 'greylisting', why: `greylisted by ${grey.host ?? 'the mail server'}` }
    : { reason: 'retry', why: 'retry delay after a temporary failure' }
}

const isGrey = ({ name, sent, reply }: Step, recipient: string): boolean =>
  reply !== null &&
  reply.code >= 400 &&
  reply.code < 500 &&
  GREY.test(reply.text) &&
  (name !== 'rcpt' || sent?.toLowerCase().includes(`<${recipient.toLowerCase()}>`) === true)
