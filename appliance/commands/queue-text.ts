import { withUnicodeDomains } from '../mail/idn.ts'
import type { Step } from '../mail/transcript.ts'
import { formatReply } from '../mail/reply.ts'
import type { Cause } from '../mail/verdict.ts'
import type { Explanation } from '../shaping/shaping.ts'
import type { Attempt, Email, EmailHistory } from '../storage/storage.ts'
import { waitsOf } from '../api/waits.ts'
import { instant, paragraph, table } from './output.ts'

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
    instant(dueAt),
    withUnicodeDomains(recipient),
  ])
  return [
    ...head.map((line) => line.replaceAll('\n', ' ')),
    '',
    ...table(['STATE', 'ATTEMPTS', 'NEXT', 'RECIPIENT'], rows),
    ...deliveries.flatMap(({ recipient, cause }) =>
      cause === null ? [] : ['', ...describeCause(recipient, cause)],
    ),
    ...deliveries.flatMap(({ recipient }, at) => {
      const why = waiting[at]?.why
      return why === undefined ? [] : ['', ...paragraph(`${recipient}: ${why}`)]
    }),
    ...waitLines(deliveries, attempts),
    ...attempts.flatMap(describeAttempt),
    '',
    ...table(
      ['EVENT', 'AT', 'RECIPIENT'],
      events.map(({ type, createdAt, data }) => [type, instant(createdAt), data.recipient ?? '']),
    ),
  ]
}

/** Formats the delays before attempts, each with its reason. */
function waitLines(deliveries: EmailHistory['deliveries'], attempts: readonly Attempt[]): string[] {
  const recipients = new Map(deliveries.map(({ id, recipient }) => [id, withUnicodeDomains(recipient)]))
  const rows = waitsOf({ deliveries, attempts: [...attempts] }).map(({ deliveryId, from, until, why }) => [
    instant(from),
    `${Math.round((until - from) / 1000)} s`,
    recipients.get(deliveryId) ?? '',
    why,
  ])
  return rows.length === 0 ? [] : ['', ...table(['WAITED SINCE', 'FOR', 'RECIPIENT', 'REASON'], rows)]
}

/** Explains the state of a delivery: the reason, its category, and advice. */
function describeCause(recipient: string, { note, category, advice }: Cause): string[] {
  const about = category === undefined ? '' : `${category}: `
  return [
    ...paragraph(`${recipient}: ${about}${note}`),
    ...(advice ? paragraph(`Fix: ${advice.text}${advice.link === undefined ? '' : ` ${advice.link}`}`) : []),
  ]
}

function describeAttempt({ startedAt, endedAt, transcript }: Attempt): string[] {
  const { host, ip, tls, steps } = transcript
  const where = host === null ? 'no server reached' : `${host}${ip === null ? '' : ` [${ip}]`}`
  const safety = tls === null ? '' : `, ${tls.version} ${tls.verified ? 'verified' : 'unverified'}`
  return [
    '',
    `attempt at ${instant(startedAt)} UTC, ${endedAt - startedAt} ms: ${where}${safety}`,
    ...steps.flatMap(describeStep),
  ]
}

function describeStep({ name, at, sent, reply, note }: Step): string[] {
  const lines = [`  ${String(Math.round(at)).padStart(6)} ms  ${name}`]
  if (sent !== null) lines.push(`             > ${sent}`)
  if (reply !== null) lines.push(`             < ${formatReply(reply)}`)
  if (note !== null) lines.push(...paragraph(note, 13))
  return lines.map((line) => line.replaceAll('\n', ' '))
}
