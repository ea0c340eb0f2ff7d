import { Few, type Complaints } from './complaints.ts'
import type { LaneHistory } from './lane-log.ts'
import { mailboxOf, type End } from './personality.ts'
import type { Plan, PlannedDelivery } from './plan.ts'
import type { Answer, Connection, Records } from './record.ts'
import type { Outcome } from './simulation.ts'

/** Checks what must hold after every campaign, regardless of the order in which sockets were served. Pure. */

/** Limits of one lane that a receiver can observe. */
export interface Limits {
  /** Maximum concurrent connections from one source to one provider. */
  connections: number
  /** Maximum transactions per connection. */
  messagesPerConnection: number
  /** Maximum transactions of one source in any minute. */
  messagesPerMinute: number
}

const MINUTE = 60_000
const DAY = 1440 * MINUTE

/** Checks that the spool's delivery states match what the receivers recorded. */
export function compareStories(plan: Plan, outcomes: readonly Outcome[], { answers }: Records): Complaints {
  const complaints = new Few()
  const told = Map.groupBy(
    answers.filter(({ recipient }) => recipient !== ''),
    ({ recipient }) => recipient,
  )
  const seen = new Set<string>()
  for (const { recipient, state } of outcomes) {
    if (seen.has(recipient)) complaints.add('twice', `${recipient} is twice in the spool`)
    seen.add(recipient)
    const planned = plan.deliveries.get(recipient)
    if (!planned) complaints.add('stranger', `${recipient} was never sent to`)
    else
      for (const one of complaintsOf(planned, state, told.get(recipient) ?? []))
        complaints.add(one.kind, one.text)
  }
  for (const recipient of plan.deliveries.keys()) {
    if (!seen.has(recipient)) complaints.add('lost', `${recipient} is not in the spool`)
  }
  return complaints.all
}

function* complaintsOf(
  planned: PlannedDelivery,
  state: string,
  told: readonly Answer[],
): Generator<{ kind: string; text: string }> {
  const { recipient } = planned
  const said = told.filter(({ verdict }) => verdict === 'said').length
  const unsaid = told.filter(({ verdict }) => verdict === 'unsaid').length
  const ends = endsOf(planned)
  if (!ends.includes(state as End))
    yield { kind: 'end', text: `${recipient} ended as ${state}, not ${ends.join(' or ')}` }
  if (state === 'delivered' && said === 0)
    yield { kind: 'never', text: `${recipient} counts as delivered, its receiver never said so` }
  if (state !== 'delivered' && said > 0)
    yield { kind: 'untold', text: `${recipient} was taken, and ended as ${state}` }
  if (said > 1) yield { kind: 'duplicate', text: `${recipient} was taken ${said} times, each time in words` }
  if (unsaid > 0 && planned.personality.name !== 'drops-after-dot')
    yield { kind: 'unsaid', text: `${recipient} was taken without a word by ${planned.personality.name}` }
}

/** Returns the valid final states of a delivery. */
function endsOf({ personality, recipient }: PlannedDelivery): End[] {
  const { end } = personality
  if (end === null) return ['bounced', 'expired']
  if (end !== undefined) return [end]
  const mailbox = mailboxOf(recipient)
  if (mailbox === 'unknown') return ['bounced']
  // A delivery to a full mailbox may expire earlier than others.
  return mailbox === 'full' ? ['expired', 'bounced'] : ['delivered']
}

/** Checks that no source ever exceeded its lane's limits, by the receivers' count. */
export function checkLimits(
  { connections }: Records,
  limitsOf: (personality: string) => Limits | undefined,
): Complaints {
  const complaints = new Few()
  for (const [name, own] of Map.groupBy(connections, ({ personality }) => personality)) {
    const limits = limitsOf(name)
    if (!limits) continue
    for (const { id, abreast, transactions, ip } of own) {
      if (abreast > limits.connections)
        complaints.add(
          `${name} abreast`,
          `${ip} had ${abreast} connections to ${name}, its lane has ${limits.connections}`,
        )
      if (transactions.length > limits.messagesPerConnection)
        complaints.add(
          `${name} messages`,
          `connection ${id} to ${name} carried ${transactions.length} messages, its lane allows ${limits.messagesPerConnection}`,
        )
    }
    for (const [ip, ofIp] of Map.groupBy(own, (one) => one.ip)) {
      const most = mostInAMinute(ofIp)
      if (most > limits.messagesPerMinute)
        complaints.add(
          `${name} rate`,
          `${ip} sent ${most} messages to ${name} within a minute, its lane allows ${limits.messagesPerMinute}`,
        )
    }
  }
  return complaints.all
}

/** Returns the maximum number of transactions within any 60 seconds, wherever the window starts. */
export function mostInAMinute(connections: readonly Connection[]): number {
  let most = 0
  for (const [, count] of within(MINUTE, timesOf(connections))) most = Math.max(most, count)
  return most
}

/**
 * Checks that a source in warm-up reaches no more recipients of a provider per UTC day than its plan allows.
 * @param since when its warm-up began
 */
export function checkWarmUp(
  { answers, connections }: Records,
  { ip, since }: { ip: string; since: number },
  planOf: (personality: string) => readonly number[] | undefined,
): Complaints {
  const complaints = new Few()
  const own = answers.filter(
    ({ connection, recipient }) => recipient !== '' && connections[connection]!.ip === ip,
  )
  for (const [name, ofName] of Map.groupBy(own, ({ personality }) => personality)) {
    for (const [day, ofDay] of Map.groupBy(
      ofName,
      ({ at }) => Math.floor(at / DAY) - Math.floor(since / DAY),
    )) {
      const most = planOf(name)?.[day] ?? Infinity
      // A recipient deferred at the first exchanger is attempted at the next one too.
      const reached = new Set(ofDay.map(({ recipient }) => recipient)).size
      if (reached > most)
        complaints.add(
          `${name} warm-up`,
          `${ip} reached ${reached} recipients of ${name} on day ${day + 1} of its warm-up, the plan says ${most}`,
        )
    }
  }
  return complaints.all
}

/**
 * Maximum time between a lane's decision and when the receiver sees it or the storage saves it. The message is signed,
 * the host dialed, and timers elapse in between. In milliseconds.
 */
const LAG = 5000

/**
 * Checks that no source exceeded what its lane allowed at that moment: connections, messages in any minute, and pauses.
 * The minute is shortened by the lag, because the first message of a minute may have been in flight longer than the
 * last.
 * Only for receivers that don't slow conversations down themselves.
 */
export function checkMoments(
  { connections }: Records,
  historyOf: (ip: string, personality: string) => LaneHistory | undefined,
): Complaints {
  const complaints = new Few()
  for (const own of Map.groupBy(connections, ({ ip, personality }) => `${ip} ${personality}`).values()) {
    const { ip, personality } = own[0]!
    const history = historyOf(ip, personality)
    if (!history) continue
    const add = (kind: string, text: string): void =>
      complaints.add(`${personality} ${kind}`, `${ip} ${text}`)
    for (const { abreast, openedAt } of own) {
      const { connections: most } = history.most(openedAt - LAG, openedAt)
      if (abreast > most)
        add('abreast', `had ${abreast} connections to ${personality} when its lane allowed ${most}`)
    }
    const times = timesOf(own)
    for (const [at, count] of within(MINUTE - LAG, times)) {
      const { rate } = history.most(at - LAG, at + MINUTE)
      if (count > rate)
        add('rate', `sent ${count} messages to ${personality} in a minute in which its lane allowed ${rate}`)
    }
    for (const { from, to } of history.silences) {
      const meanwhile = times.filter((at) => at > from + LAG && at < to).length
      if (meanwhile > 0) add('pause', `sent ${meanwhile} messages to ${personality} although it was paused`)
    }
  }
  return complaints.all
}

const timesOf = (connections: readonly Connection[]): number[] =>
  connections.flatMap(({ transactions }) => transactions).toSorted((a, b) => a - b)

/** Yields, for each instant, how many instants fall within the time span that starts there. */
function* within(span: number, times: readonly number[]): Generator<[at: number, count: number]> {
  for (let first = 0, end = 0; first < times.length; first++) {
    while (end < times.length && times[end]! - times[first]! < span) end++
    yield [times[first]!, end - first]
  }
}
