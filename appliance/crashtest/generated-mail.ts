/** Generates what clients send: recipients, content and time, all by the random generator. */
import { DIGEST_FIELD, digestOf, MARK_FIELD } from './exchanger.ts'
import type { Sent } from './ledger.ts'
import type { Dice } from './plan.ts'

export type Via = 'rest' | 'smtp'

/** Length of a message that storage keeps in a separate file, in characters. */
const LARGE = 300_000
/** Share of REST requests that are batches, and emails per batch. */
const BATCHES = 0.04
const IN_A_BATCH = [2, 8] as const
/** Share of REST emails that are scheduled, and by how many seconds: long enough for a kill or more. */
const SCHEDULED = 0.06
const SECONDS_AHEAD = [1, 5] as const

/** Returns how many emails the next request has: usually one, sometimes a batch. */
export const requestSize = (via: Via, dice: Dice): number =>
  via === 'rest' && dice.next() < BATCHES ? dice.between(...IN_A_BATCH) : 1

/** Generates an email: usually one recipient, sometimes several, some of which are refused or deferred. */
export function newSent(
  { via, mark, at, batch }: { via: Via; mark: string; at: number; batch: string | null },
  { dice, domains }: { dice: Dice; domains: readonly string[] },
): Sent {
  const recipients = Array.from({ length: dice.next() < 0.2 ? dice.between(2, 4) : 1 }, (_, n) => {
    const draw = dice.next()
    // Over SMTP, a bounce would cause a report, which is another email.
    const kind = via === 'rest' && draw < 0.03 ? 'refuse' : draw < 0.05 ? 'later' : 'user'
    return `${kind}-${mark}-${n}@${domains[dice.between(0, domains.length - 1)]!}`
  })
  const isScheduled = via === 'rest' && dice.next() < SCHEDULED
  const notBefore = isScheduled ? at + 1000 * dice.between(...SECONDS_AHEAD) : null
  return { mark, recipients, ids: [], tries: [], at, batch, notBefore, refused: null }
}

function newText(mark: string, dice: Dice): string {
  const filling = dice.next() < 0.025 ? 'A line of a large message.\n'.repeat(LARGE / 27) : 'Hello.\n'
  return `${filling}The end of ${mark}.\n`
}

/**
 * Formats an email for REST. Its time is relative to when the request is accepted, so that every attempt has the same
 * octets, as the idempotency key requires, and none comes too late.
 */
export function restBody({ mark, recipients, at, notBefore }: Sent, from: string, dice: Dice): object {
  const text = newText(mark, dice)
  return {
    from,
    to: recipients,
    subject: `Crash test ${mark}`,
    text,
    headers: { [MARK_FIELD]: mark, [DIGEST_FIELD]: digestOf(text) },
    ...(notBefore !== null && { scheduled_at: `in ${(notBefore - at) / 1000} seconds` }),
  }
}

/** Formats a message for SMTP, with CRLF line ends; each attempt has its own mark. */
export function smtpData(mark: string, recipients: string[], from: string, dice: Dice): string {
  const head = [`From: ${from}`, `To: ${recipients.join(', ')}`, `Subject: Crash test ${mark}`]
  const text = newText(mark, dice).trimEnd().replaceAll('\n', '\r\n')
  const proofs = [`${MARK_FIELD}: ${mark}`, `${DIGEST_FIELD}: ${digestOf(text)}`]
  return [...head, ...proofs, '', text].join('\r\n')
}
