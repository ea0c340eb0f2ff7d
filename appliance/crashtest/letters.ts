/** What the clients send: to whom, what, and when. By the dice alone. */
import { DIGEST_FIELD, digestOf, MARK_FIELD } from './exchanger.ts'
import type { Sent } from './ledger.ts'
import type { Dice } from './plan.ts'

export type Door = 'rest' | 'smtp'

/** Text of a message that the storage keeps in a file of its own, in characters. */
const LARGE = 300_000
/** Of the requests over REST, those for a batch, and how many emails one has. */
const BATCHES = 0.04
const IN_A_BATCH = [2, 8] as const
/** Of the emails over REST, those that are scheduled, and for how many seconds ahead: a kill or more lies between. */
const SCHEDULED = 0.06
const SECONDS_AHEAD = [1, 5] as const

/** How many emails the next request has: mostly one, at times a batch of some. */
export const requestSize = (door: Door, dice: Dice): number =>
  door === 'rest' && dice.next() < BATCHES ? dice.between(...IN_A_BATCH) : 1

/** A new email: mostly one recipient, at times some that are refused or have to wait. */
export function newSent(
  { door, mark, at, batch }: { door: Door; mark: string; at: number; batch: string | null },
  { dice, domains }: { dice: Dice; domains: readonly string[] },
): Sent {
  const recipients = Array.from({ length: dice.next() < 0.2 ? dice.between(2, 4) : 1 }, (_, n) => {
    const draw = dice.next()
    // Over SMTP a bounce would be answered by a report, which is another email.
    const kind = door === 'rest' && draw < 0.03 ? 'refuse' : draw < 0.05 ? 'later' : 'user'
    return `${kind}-${mark}-${n}@${domains[dice.between(0, domains.length - 1)]!}`
  })
  const isScheduled = door === 'rest' && dice.next() < SCHEDULED
  const notBefore = isScheduled ? at + 1000 * dice.between(...SECONDS_AHEAD) : null
  return { mark, recipients, ids: [], tries: [], at, batch, notBefore, refused: null }
}

function newText(mark: string, dice: Dice): string {
  const filling = dice.next() < 0.025 ? 'A line of a large message.\n'.repeat(LARGE / 27) : 'Hello.\n'
  return `${filling}The end of ${mark}.\n`
}

/**
 * An email as REST takes it. The time is told in words, counted from when the request is taken: so every try has the same octets, as
 * its idempotency key asks for, and none comes too late.
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

/** A message as SMTP takes it, with CRLF line ends; each try carries a mark of its own. */
export function smtpData(mark: string, recipients: string[], from: string, dice: Dice): string {
  const head = [`From: ${from}`, `To: ${recipients.join(', ')}`, `Subject: Crash test ${mark}`]
  const text = newText(mark, dice).trimEnd().replaceAll('\n', '\r\n')
  const proofs = [`${MARK_FIELD}: ${mark}`, `${DIGEST_FIELD}: ${digestOf(text)}`]
  return [...head, ...proofs, '', text].join('\r\n')
}
