import type {
  Attempt,
  Delivery,
  EmailEvent,
  Step,
  Timeline,
} from '../../../appliance/http/schemas/timeline.ts'
import { duration, instant, span } from './time.ts'

/**
 * The story of one delivery: its events and attempts as one list. An attempt and the event it caused are one entry,
 * since for the reader they are one happening.
 */
export interface Entry {
  key: string
  /** Unix milliseconds. */
  at: number
  /** Which status it led to; null where the attempt left no word of its own. */
  kind: EmailEvent['type'] | 'attempt'
  title: string
  reply: Step['reply']
  /** The attempt with its number among those of this delivery, from 1. */
  attempt: { data: Attempt; number: number } | null
}

/** Events that an attempt ends with. */
const OUTCOMES: readonly EmailEvent['type'][] = [
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.failed',
  'email.suppressed',
]

/** All that happened to `delivery`, oldest first. */
export function storyOf(timeline: Timeline, delivery: Delivery): Entry[] {
  const attempts = timeline.attempts
    .filter((attempt) => attempt.delivery_ids.includes(delivery.id))
    .sort((a, b) => instant(a.started_at) - instant(b.started_at))
  const events = timeline.events
    .filter((event) => event.delivery_id === null || event.delivery_id === delivery.id)
    .sort((a, b) => instant(a.created_at) - instant(b.created_at))

  const caused = new Map<string, EmailEvent>()
  const alone: EmailEvent[] = []
  for (const event of events) {
    const attempt = causeOf(event, attempts)
    if (attempt && !caused.has(attempt.id)) caused.set(attempt.id, event)
    else alone.push(event)
  }
  return [
    ...alone.map(eventEntry),
    ...attempts.map((attempt, i) => {
      const last = i === attempts.length - 1
      return attemptEntry(attempt, i + 1, caused.get(attempt.id), delivery, last)
    }),
  ].sort((a, b) => a.at - b.at || Number(isAftermath(a)) - Number(isAftermath(b)))
}

/** What comes of a message that was delivered; test addresses answer within the same millisecond. */
const isAftermath = ({ kind }: Entry): boolean =>
  kind === 'email.complained' || kind === 'email.opened' || kind === 'email.clicked'

/** The last attempt begun before the outcome was written down. */
function causeOf(event: EmailEvent, attempts: Attempt[]): Attempt | undefined {
  if (event.delivery_id === null || !OUTCOMES.includes(event.type)) return undefined
  return attempts.findLast((attempt) => instant(attempt.started_at) <= instant(event.created_at))
}

function eventEntry(event: EmailEvent): Entry {
  return {
    key: event.id,
    at: instant(event.created_at),
    kind: event.type,
    title: event.visit
      ? visitTitle(event.visit)
      : event.cause
        ? asTitle(event.cause.note)
        : plainTitle(event.type),
    reply: event.cause?.reply ?? null,
    attempt: null,
  }
}

/** Who came, and for what; machines are told apart. */
function visitTitle({ link, robot, seen_by: seenBy }: NonNullable<EmailEvent['visit']>): string {
  const what = link === null ? 'Opened' : `Followed a link to ${link}`
  if (robot) return `${what} by a machine${seenBy === null ? '' : ` (${seenBy})`}: counted apart`
  return seenBy === null ? what : `${what}, seen by the ${seenBy}`
}

/** A note of one sentence loses its full stop as a title. */
const asTitle = (note: string) => (/^[^.]*(\.\S[^.]*)*\.$/.test(note) ? note.slice(0, -1) : note)

function plainTitle(type: EmailEvent['type']): string {
  const titles: Record<EmailEvent['type'], string> = {
    'email.scheduled': 'Accepted, and scheduled for later',
    'email.sent': 'Accepted and stored: delivery begins',
    'email.delivered': 'Delivered',
    'email.delivery_delayed': 'Delayed: it will be tried again',
    'email.complained': 'The recipient reported it as spam',
    'email.bounced': 'Refused for good',
    'email.failed': 'Given up before the recipient’s server decided',
    'email.suppressed': 'Not sent: the address is on the suppression list',
    'email.opened': 'Opened',
    'email.clicked': 'A link was followed',
  }
  return titles[type]
}

function attemptEntry(
  attempt: Attempt,
  number: number,
  event: EmailEvent | undefined,
  delivery: Delivery,
  last: boolean,
): Entry {
  const step = decisiveStep(attempt, delivery.recipient)
  const cause = event?.cause ?? (last ? delivery.cause : null)
  const taken = event ? event.type === 'email.delivered' : step?.name === 'body' && step.reply?.code === 250
  return {
    key: attempt.id,
    at: instant(attempt.started_at),
    kind: event?.type ?? (taken ? 'email.delivered' : last ? 'attempt' : 'email.delivery_delayed'),
    title: cause
      ? asTitle(cause.note)
      : taken
        ? `${attempt.host ?? 'The mail server'} took the message`
        : plainOutcome(attempt, step),
    reply: cause?.reply ?? step?.reply ?? null,
    attempt: { data: attempt, number },
  }
}

function plainOutcome(attempt: Attempt, step: Step | undefined): string {
  const who = step?.host ?? attempt.host ?? 'The mail server'
  if (step?.reply)
    return step.reply.code >= 500 ? `${who} refused it` : `${who} asked to be tried again later`
  return step?.note ?? 'The attempt did not succeed'
}

/** Whether a step is about this recipient: all are but the RCPT commands of others. */
export function concerns(step: Step, recipient: string): boolean {
  if (step.name !== 'rcpt' || step.sent === null) return true
  return step.sent.toLowerCase().includes(`<${recipient.toLowerCase()}>`)
}

const isDecision = (step: Step) => step.name !== 'quit' && step.name !== 'rset'

/** The commands of a mail transaction (RFC 5321 §3.3), and its body. */
const TRANSACTION: readonly string[] = ['mail', 'rcpt', 'data', 'body']

/** The steps of an attempt, those of a transaction together. */
function transactions(steps: readonly Step[]): Step[][] {
  const found: Step[][] = []
  for (const step of steps) {
    const goesOn = TRANSACTION.includes(step.name) && step.name !== 'mail'
    if (goesOn && TRANSACTION.includes(found.at(-1)?.[0]?.name ?? '')) found.at(-1)!.push(step)
    else found.push([step])
  }
  return found
}

/**
 * What of a transaction is about one recipient: up to the first refusal. Commands are sent ahead (RFC 2920), so those behind a refusal
 * are answered too, and the message may still be taken for others.
 */
function about(recipient: string, transaction: readonly Step[]): Step[] {
  const own = transaction.filter((step) => isDecision(step) && concerns(step, recipient))
  const named = (steps: readonly Step[]) => steps.some(({ name }) => name === 'rcpt')
  if (named(transaction) && !named(own)) return []
  const refused = own.findIndex(({ reply }) => reply !== null && reply.code >= 400)
  return refused === -1 ? own : own.slice(0, refused + 1)
}

/** The step that decided about one recipient: the last refusal, or the reply to the body. */
function decisiveStep(attempt: Attempt, recipient: string): Step | undefined {
  const own = transactions(attempt.steps).flatMap((transaction) => about(recipient, transaction))
  return (
    own.findLast((step) => step.reply !== null && (step.reply.code >= 400 || step.name === 'body')) ??
    own.findLast((step) => step.note !== null && step.reply === null)
  )
}

/** A first attempt that is due this much later than its email was accepted was meant to be later (milliseconds). */
const ON_PURPOSE = 1000

/** Whether a delivery that was never tried waits for the time that its sender chose. */
export function isScheduled(delivery: Delivery): boolean {
  if (delivery.state !== 'waiting' || delivery.attempts > 0 || delivery.next_attempt_at === null) return false
  return instant(delivery.next_attempt_at) - instant(delivery.created_at) > ON_PURPOSE
}

/** What happens next to a delivery, or that nothing does and why. */
export interface Outlook {
  final: boolean
  title: string
  detail: string
  /** When the next attempt is due and when it is given up, Unix milliseconds. */
  next: number | null
  givenUp: number | null
}

const FINAL: Record<Exclude<Delivery['state'], 'waiting' | 'held'>, [title: string, detail: string]> = {
  delivered: ['Final: delivered', 'The recipient’s mail server has taken responsibility for the message.'],
  bounced: ['Final: refused', 'The recipient’s mail server refused it for good. It will not be tried again.'],
  expired: ['Final: given up', 'It could not be delivered within its lifetime. It will not be tried again.'],
  failed: ['Final: failed', 'It could not be sent from here. Once the cause is mended, send it again.'],
  suppressed: ['Final: not sent', 'The address is on the suppression list, so no attempt was made.'],
  canceled: ['Final: canceled', 'It was canceled before its time came, so no attempt was made.'],
}

/** See `Outlook`. */
export function outlook(delivery: Delivery, now: number): Outlook {
  const { state } = delivery
  if (state === 'held') {
    const detail = 'An operator holds it. Nothing happens until it is released.'
    return { final: false, title: 'Held', detail, next: null, givenUp: null }
  }
  if (state !== 'waiting') {
    const [title, detail] = FINAL[state]
    return { final: true, title, detail, next: null, givenUp: null }
  }
  const next = delivery.next_attempt_at === null ? null : instant(delivery.next_attempt_at)
  const givenUp = delivery.expires_at === null ? null : instant(delivery.expires_at)
  const which = delivery.attempts === 0 ? 'First' : 'Next'
  const when = next === null || next <= now + 1000 ? 'is due now' : `in ${span(next - now)}`
  return { final: false, title: `${which} try ${when}`, detail: whyWaiting(delivery), next, givenUp }
}

/** Why a delivery is where it is, with the code of the reply at the end of the first sentence: `Gmail asked us to slow down (421 4.7.28).` */
export function withCode({ note, reply }: Pick<NonNullable<Delivery['cause']>, 'note' | 'reply'>): string {
  if (reply === null || note.includes(String(reply.code))) return note
  const code = [reply.code, reply.enhanced].filter((part) => part !== null).join(' ')
  return note.replace(/\.(?=\s|$)|$/, (end) => ` (${code})${end}`)
}

/**
 * Why a delivery waits, as one sentence or more; empty where its time says it all. What it waits for may hold the reason
 * of the last attempt already, and the number and time of the next, which the reader is told in words of their own.
 */
export function whyWaiting(delivery: Delivery): string {
  const cause = delivery.state === 'held' ? null : delivery.cause
  const why = delivery.waiting?.why ?? ''
  if (cause === null) return why === '' ? '' : sentence(why)
  const because = sentence(withCode(cause))
  // It stands within what the delivery waits for without its full stop.
  return why === '' || why.endsWith(`: ${cause.note.replace(/\.$/, '')}`)
    ? because
    : `${because} ${sentence(why)}`
}

/** With a capital and a full stop; a host name at the beginning stays as it is written. */
function sentence(text: string): string {
  const [first = ''] = text.split(' ', 1)
  const begun = first.includes('.') ? text : text.charAt(0).toUpperCase() + text.slice(1)
  return begun.endsWith('.') ? begun : `${begun}.`
}

/** One line for the head of a story: how it stands, in the fewest words. */
export function summary(delivery: Delivery, now: number): string {
  const tries = delivery.attempts === 1 ? '1 try' : `${delivery.attempts} tries`
  const took = instant(delivery.updated_at) - instant(delivery.created_at)
  if (delivery.state === 'delivered') return `after ${duration(took)}, ${tries}`
  const { title, final } = outlook(delivery, now)
  if (final) return delivery.attempts === 0 ? 'no attempt was made' : `after ${duration(took)}, ${tries}`
  return delivery.attempts === 0 ? title : `${title}, ${tries} so far`
}
