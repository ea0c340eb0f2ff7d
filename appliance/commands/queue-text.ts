import { toUnicodeDomains } from '../mail/idn.ts'
import type { Step } from '../mail/transcript.ts'
import { formatReply } from '../mail/reply.ts'
import type { Cause } from '../mail/verdict.ts'
import type { Explanation } from '../shaping/shaping.ts'
import type { Attempt, Email, EmailHistory } from '../storage/storage.ts'
import { listWaits } from '../api/waits.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'

/** Formats the history of an email: recipients, then each attempt with its transcript. */
export function describeHistory(
  email: Email,
  { deliveries, attempts, events }: EmailHistory,
  waiting: readonly (Explanation | null)[],
): string[] {
  const head = [`email    ${email.id}`, `from     ${email.from}`, `subject  ${email.subject}`]
  const rows = deliveries.map(({ state, attempts: count, dueAt, recipient }) => [
    state,
    String(count),
    formatInstant(dueAt),
    toUnicodeDomains(recipient),
  ])
  return [
    ...head.map((line) => line.replaceAll('\n', ' ')),
    '',
    ...formatTable(['STATE', 'ATTEMPTS', 'NEXT', 'RECIPIENT'], rows),
    ...deliveries.flatMap(({ recipient, cause }) =>
      cause === null ? [] : ['', ...describeCause(recipient, cause)],
    ),
    ...deliveries.flatMap(({ recipient }, at) => {
      const why = waiting[at]?.why
      return why === undefined ? [] : ['', ...wrapParagraph(`${recipient}: ${why}`)]
    }),
    ...waitLines(deliveries, attempts),
    ...attempts.flatMap(describeAttempt),
    '',
    ...formatTable(
      ['EVENT', 'AT', 'RECIPIENT'],
      events.map(({ type, createdAt, data }) => [type, formatInstant(createdAt), data.recipient ?? '']),
    ),
  ]
}

/** Formats the delays before attempts, each with its reason. */
function waitLines(deliveries: EmailHistory['deliveries'], attempts: readonly Attempt[]): string[] {
  const recipients = new Map(deliveries.map(({ id, recipient }) => [id, toUnicodeDomains(recipient)]))
  const rows = listWaits({ deliveries, attempts: [...attempts] }).map(({ deliveryId, from, until, why }) => [
    formatInstant(from),
    `${Math.round((until - from) / 1000)} s`,
    recipients.get(deliveryId) ?? '',
    why,
  ])
  return rows.length === 0 ? [] : ['', ...formatTable(['WAITED SINCE', 'FOR', 'RECIPIENT', 'REASON'], rows)]
}

/** Explains the state of a delivery: the reason, its category, and advice. */
function describeCause(recipient: string, { note, category, advice }: Cause): string[] {
  const about = category === undefined ? '' : `${category}: `
  return [
    ...wrapParagraph(`${recipient}: ${about}${note}`),
    ...(advice
      ? wrapParagraph(`Fix: ${advice.text}${advice.link === undefined ? '' : ` ${advice.link}`}`)
      : []),
  ]
}

function describeAttempt({ startedAt, endedAt, transcript }: Attempt): string[] {
  const { host, ip, tls, steps } = transcript
  const where = host === null ? 'no server reached' : `${host}${ip === null ? '' : ` [${ip}]`}`
  const safety = tls === null ? '' : `, ${tls.version} ${tls.verified ? 'verified' : 'unverified'}`
  return [
    '',
    `attempt at ${formatInstant(startedAt)} UTC, ${endedAt - startedAt} ms: ${where}${safety}`,
    ...steps.flatMap(describeStep),
  ]
}

function describeStep({ name, at, sent, reply, note }: Step): string[] {
  const lines = [`  ${String(Math.round(at)).padStart(6)} ms  ${name}`]
  if (sent !== null) lines.push(`             > ${sent}`)
  if (reply !== null) lines.push(`             < ${formatReply(reply)}`)
  if (note !== null) lines.push(...wrapParagraph(note, 13))
  return lines.map((line) => line.replaceAll('\n', ' '))
}
