import type { Attempt, Delivery, EmailEvent, Step, Timeline, Wait } from '../../../appliance/api/timeline.ts'
import { formatDuration, parseInstant, formatSpan } from './time.ts'

/** An entry in the timeline of a delivery. An attempt and the event it caused are one entry. */
export interface TimelineEntry {
  key: string
  /** Unix milliseconds. */
  at: number
  /** An event, an attempt without an event, the acceptance, or the wait for the next attempt. */
  kind: EmailEvent['type'] | 'attempt' | 'accepted' | 'wait'
  title: string
  reply: Step['reply']
  /** The attempt and its number for this delivery, counted from 1. */
  attempt: { data: Attempt; number: number } | null
}

/** Events that end an attempt. */
const OUTCOMES: readonly EmailEvent['type'][] = [
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.failed',
  'email.suppressed',
]

/** Returns the timeline of `delivery`, oldest first. */
export function buildTimeline(timeline: Timeline, delivery: Delivery): TimelineEntry[] {
  const attempts = timeline.attempts
    .filter((attempt) => attempt.delivery_ids.includes(delivery.id))
    .sort((a, b) => parseInstant(a.started_at) - parseInstant(b.started_at))
  const events = timeline.events
    .filter((event) => event.delivery_id === null || event.delivery_id === delivery.id)
    .sort((a, b) => parseInstant(a.created_at) - parseInstant(b.created_at))

  const caused = new Map<string, EmailEvent>()
  const alone: EmailEvent[] = []
  for (const event of events) {
    const attempt = causeOf(event, attempts)
    if (attempt && !caused.has(attempt.id)) caused.set(attempt.id, event)
    else alone.push(event)
  }
  const waits = timeline.waits.filter(({ delivery_id: of }) => of === delivery.id)
  return [
    ...accepted(timeline, alone),
    ...waits.map(waitEntry),
    ...alone.map(eventEntry),
    ...attempts.map((attempt, i) => {
      const last = i === attempts.length - 1
      return attemptEntry(attempt, i + 1, caused.get(attempt.id), delivery, last)
    }),
  ].sort((a, b) => a.at - b.at || rank(a) - rank(b))
}

/**
 * Sort order of entries at the same millisecond, which test addresses cause: acceptance first, events after the
 * delivery last.
 */
function rank({ kind }: TimelineEntry): number {
  if (kind === 'accepted') return -1
  if (kind === 'wait') return 1
  return kind === 'email.complained' || kind === 'email.opened' || kind === 'email.clicked' ? 2 : 0
}

/** Returns the entry for the acceptance. Scheduled emails have an event for it instead. */
function accepted(
  { email_id: id, accepted_at: at }: Timeline,
  events: readonly EmailEvent[],
): TimelineEntry[] {
  if (events.some(({ type }) => type === 'email.scheduled')) return []
  const title = 'Accepted and stored'
  return [
    { key: `accepted ${id}`, at: parseInstant(at), kind: 'accepted', title, reply: null, attempt: null },
  ]
}

const waited = (ms: number): string => (ms < 60_000 ? formatSpan(ms) : formatDuration(ms))

function waitEntry({ delivery_id: of, from, until, why }: Wait): TimelineEntry {
  const at = parseInstant(from)
  const title = `Waited ${waited(parseInstant(until) - at)}: ${why}`
  return { key: `wait ${of} ${from}`, at, kind: 'wait', title, reply: null, attempt: null }
}

/** Returns the last attempt that began before the event was recorded. */
function causeOf(event: EmailEvent, attempts: Attempt[]): Attempt | undefined {
  if (event.delivery_id === null || !OUTCOMES.includes(event.type)) return undefined
  return attempts.findLast((attempt) => parseInstant(attempt.started_at) <= parseInstant(event.created_at))
}

function eventEntry(event: EmailEvent): TimelineEntry {
  return {
    key: event.id,
    at: parseInstant(event.created_at),
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

/** Describes an open or click, and whether it was by a bot. */
function visitTitle({ link, robot, seen_by: seenBy }: NonNullable<EmailEvent['visit']>): string {
  const what = link === null ? 'Opened' : `Followed a link to ${link}`
  if (robot) return `${what} by a bot${seenBy === null ? '' : ` (${seenBy})`}, not counted`
  return seenBy === null ? what : `${what} through the ${seenBy}`
}

/** Removes the full stop of a single sentence for use as a title. */
const asTitle = (note: string) => (/^[^.]*(\.\S[^.]*)*\.$/.test(note) ? note.slice(0, -1) : note)

function plainTitle(type: EmailEvent['type']): string {
  const titles: Record<EmailEvent['type'], string> = {
    'email.scheduled': 'Accepted, and scheduled for later',
    'email.sent': 'Delivery started',
    'email.delivered': 'Delivered',
    'email.delivery_delayed': 'Delayed: Posthaste will retry',
    'email.complained': 'The recipient reported it as spam',
    'email.bounced': 'Bounced',
    'email.failed': 'Failed: not sent',
    'email.suppressed': 'Not sent: the address is on the suppression list',
    'email.opened': 'Opened',
    'email.clicked': 'A link was clicked',
  }
  return titles[type]
}

function attemptEntry(
  attempt: Attempt,
  number: number,
  event: EmailEvent | undefined,
  delivery: Delivery,
  last: boolean,
): TimelineEntry {
  const step = decisiveStep(attempt, delivery.recipient)
  const cause = event?.cause ?? (last ? delivery.cause : null)
  const taken = event ? event.type === 'email.delivered' : step?.name === 'body' && step.reply?.code === 250
  return {
    key: attempt.id,
    at: parseInstant(attempt.started_at),
    kind: event?.type ?? (taken ? 'email.delivered' : last ? 'attempt' : 'email.delivery_delayed'),
    title: cause
      ? asTitle(cause.note)
      : taken
        ? `${attempt.host ?? 'The mail server'} accepted the message`
        : plainOutcome(attempt, step),
    reply: cause?.reply ?? step?.reply ?? null,
    attempt: { data: attempt, number },
  }
}

function plainOutcome(attempt: Attempt, step: Step | undefined): string {
  const who = step?.host ?? attempt.host ?? 'The mail server'
  if (step?.reply)
    return step.reply.code >= 500 ? `${who} rejected it` : `${who} asked Posthaste to retry later`
  return step?.note ?? 'The attempt failed'
}

/** Whether a step concerns this recipient: every step except RCPT commands for other recipients. */
export function isAboutRecipient(step: Step, recipient: string): boolean {
  if (step.name !== 'rcpt' || step.sent === null) return true
  return step.sent.toLowerCase().includes(`<${recipient.toLowerCase()}>`)
}

const isDecision = (step: Step) => step.name !== 'quit' && step.name !== 'rset'

/** The steps of a mail transaction (RFC 5321 §3.3): its commands and the body. */
const TRANSACTION: readonly string[] = ['mail', 'rcpt', 'data', 'body']

/** Groups the steps of an attempt by transaction. */
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
 * Returns the steps of a transaction for one recipient, up to the first rejection. With pipelining (RFC 2920), later
 * commands also get replies, and the message may be accepted for other recipients.
 */
function about(recipient: string, transaction: readonly Step[]): Step[] {
  const own = transaction.filter((step) => isDecision(step) && isAboutRecipient(step, recipient))
  const named = (steps: readonly Step[]) => steps.some(({ name }) => name === 'rcpt')
  if (named(transaction) && !named(own)) return []
  const refused = own.findIndex(({ reply }) => reply !== null && reply.code >= 400)
  return refused === -1 ? own : own.slice(0, refused + 1)
}

/** Returns the step that decided the outcome for a recipient: the last rejection, or the reply to the body. */
function decisiveStep(attempt: Attempt, recipient: string): Step | undefined {
  const own = transactions(attempt.steps).flatMap((transaction) => about(recipient, transaction))
  return (
    own.findLast((step) => step.reply !== null && (step.reply.code >= 400 || step.name === 'body')) ??
    own.findLast((step) => step.note !== null && step.reply === null)
  )
}
