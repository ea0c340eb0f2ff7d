/** Builds the human-readable part of a report. Pure. */
import { formatDateTime } from '../mail/date.ts'
import type { ReportKind } from '../mail/dsn.ts'
import { formatReply } from '../mail/reply.ts'
import type { DueReport, ReportedDelivery } from '../storage/storage.ts'

const WIDTH = 72
/** Maximum number of quoted characters of a reply; the transcript contains the whole reply. */
const QUOTED_CHARS = 1000

const OPENING: Record<ReportKind, string> = {
  failed: 'Your message could not be delivered to the recipients below. No further attempts will be made.',
  delayed:
    'Your message has not been delivered to the recipients below yet. Delivery will be retried. You do not need to send it again.',
  relayed:
    'Your message was relayed to the mail servers of the recipients below, which accepted it. They do not send delivery notifications, so this does not confirm that it reached a mailbox or was read.',
}

/** Explains what happened. Lines end with LF and have at most 72 characters, except for long words. */
export function explainReport(due: DueReport, hostname: string): string {
  const { kind, subject, createdAt, messageId, emailId, deliveries } = due
  return [
    wrap(`This is the mail system at ${hostname}.`),
    '',
    wrap(OPENING[kind]),
    '',
    wrap(`Subject: ${oneLine(subject) || '(none)'}`),
    `Accepted: ${formatDateTime(createdAt)}`,
    `Message-ID: ${oneLine(messageId)}`,
    `Email: ${emailId}`,
    ...deliveries.flatMap((delivery) => ['', ...recipient(delivery, kind)]),
    '',
  ].join('\n')
}

function recipient(
  { recipient, state, attempts, cause, expiresAt }: ReportedDelivery,
  kind: ReportKind,
): string[] {
  const lines = [`<${oneLine(recipient)}>`]
  const say = (text: string): void => void lines.push(wrap(oneLine(text), '    '))
  if (state === 'expired')
    say(`Expired after ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}. The last attempt:`)
  if (cause) say(cause.note)
  if (cause?.reply && cause.host !== null) {
    const where = cause.ip === null ? cause.host : `${cause.host} [${cause.ip}]`
    say(`${where} replied: ${formatReply(cause.reply).slice(0, QUOTED_CHARS)}`)
  }
  if (kind === 'delayed' && expiresAt !== null) say(`Attempts will stop at ${formatDateTime(expiresAt)}.`)
  return lines
}

/** Replaces line ends and control characters in untrusted text. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ').trim()
}

function wrap(text: string, indent = ''): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && indent.length + last.length + 1 + word.length <= WIDTH)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.map((line) => indent + line).join('\n')
}
