/** Generates the mail that clients send: recipients, content and time, all by the random generator. */
import { DIGEST_FIELD, computeDigest, MARK_FIELD } from './exchanger.ts'
import type { SentEmail } from './ledger.ts'
import type { RandomGenerator } from './plan.ts'

export type SubmissionProtocol = 'rest' | 'smtp'

/** Length in characters of a message that is large enough for the storage to keep it in a separate file. */
const LARGE = 300_000
/** Share of REST requests that are batches, and range of the number of emails per batch. */
const BATCHES = 0.04
const IN_A_BATCH = [2, 8] as const
/** Share of REST emails that are scheduled, and range of the delay in seconds: long enough for at least one kill. */
const SCHEDULED = 0.06
const SECONDS_AHEAD = [1, 5] as const
/** Prefix of recipients whose server accepts the message and returns it later. */
const BOUNCES = 'gone'

/** Returns the number of emails in the next request: usually one, sometimes a batch. */
export const pickRequestSize = (via: SubmissionProtocol, dice: RandomGenerator): number =>
  via === 'rest' && dice.next() < BATCHES ? dice.between(...IN_A_BATCH) : 1

/** Generates an email: usually one recipient, sometimes several, some of which are refused or deferred. */
export function generateEmail(
  { via, mark, at, batch }: { via: SubmissionProtocol; mark: string; at: number; batch: string | null },
  { dice, domains }: { dice: RandomGenerator; domains: readonly string[] },
): SentEmail {
  const recipients = Array.from({ length: dice.next() < 0.2 ? dice.between(2, 4) : 1 }, (_, n) => {
    const draw = dice.next()
    return `${kindOf(via, draw)}-${mark}-${n}@${domains[dice.between(0, domains.length - 1)]!}`
  })
  const isScheduled = via === 'rest' && dice.next() < SCHEDULED
  const notBefore = isScheduled ? at + 1000 * dice.between(...SECONDS_AHEAD) : null
  return { mark, recipients, ids: [], tries: [], at, batch, notBefore, refused: null }
}

/** Over SMTP, a bounce would cause a report, which would be another email. */
function kindOf(via: SubmissionProtocol, draw: number): string {
  if (draw < 0.05) return via === 'rest' && draw < 0.03 ? 'refuse' : 'later'
  return via === 'rest' && draw < 0.12 ? BOUNCES : 'user'
}

function newText(mark: string, dice: RandomGenerator): string {
  const filling = dice.next() < 0.025 ? 'A line of a large message.\n'.repeat(LARGE / 27) : 'Hello.\n'
  return `${filling}The end of ${mark}.\n`
}

/**
 * Formats an email for REST. Its time is relative to the acceptance of the request, so that all attempts send identical
 * bytes, as the idempotency key requires, and none asks for a past time.
 */
export function formatRestBody(
  { mark, recipients, at, notBefore }: SentEmail,
  from: string,
  dice: RandomGenerator,
): object {
  const text = newText(mark, dice)
  return {
    from,
    to: recipients,
    subject: `Crash test ${mark}`,
    text,
    headers: { [MARK_FIELD]: mark, [DIGEST_FIELD]: computeDigest(text) },
    ...(notBefore !== null && { scheduled_at: `in ${(notBefore - at) / 1000} seconds` }),
  }
}

/** Formats a message for SMTP, with CRLF line ends; each attempt has its own mark. */
export function formatSmtpMessage(
  mark: string,
  recipients: string[],
  from: string,
  dice: RandomGenerator,
): string {
  const head = [`From: ${from}`, `To: ${recipients.join(', ')}`, `Subject: Crash test ${mark}`]
  const text = newText(mark, dice).trimEnd().replaceAll('\n', '\r\n')
  const proofs = [`${MARK_FIELD}: ${mark}`, `${DIGEST_FIELD}: ${computeDigest(text)}`]
  return [...head, ...proofs, '', text].join('\r\n')
}

/** Whether a recipient's server returns messages after accepting them. */
export const returnsMail = (recipient: string): boolean => recipient.startsWith(`${BOUNCES}-`)

/** Formats a delivery report about one recipient (RFC 3464), with CRLF line ends. */
export function formatDeliveryReport(mark: string, { to, about }: { to: string; about: string }): string {
  const boundary = `report-${mark}`
  const domain = about.slice(about.indexOf('@') + 1)
  return [
    `From: Mail Delivery System <mailer-daemon@${domain}>`,
    `To: <${to}>`,
    'Subject: Undelivered mail',
    `Message-ID: <${mark}@${domain}>`,
    `${MARK_FIELD}: ${mark}`,
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    '',
    'The message could not be delivered.',
    `--${boundary}`,
    'Content-Type: message/delivery-status',
    '',
    `Reporting-MTA: dns; mx.${domain}`,
    '',
    `Final-Recipient: rfc822; ${about}`,
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1 No such user',
    '',
    `--${boundary}--`,
  ].join('\r\n')
}
