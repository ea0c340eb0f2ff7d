/** Evaluates a ledger: which mail was lost or duplicated, and whether a kill explains it. Pure. */
import type { AcceptedCopy, Hold, Kill, Ledger, SentEmail, SmtpAttempt } from './ledger.ts'

/** A message that a recipient received more than once. */
export interface Duplicate {
  mark: string
  recipient: string
  copies: number
  /**
   * Kills that came after an exchanger's 250 and before the delivery was settled, and so explain the copies. Null when
   * a copy isn't explained.
   */
  kills: number[] | null
}

export interface Verdict {
  /** Number of emails acknowledged with 200 or 250. */
  accepted: number
  /** Number of recipients of these emails. */
  expected: number
  delivered: number
  bounced: number
  /** Number of accepted emails in batches. */
  batched: number
  /** Number of accepted emails that were scheduled. */
  scheduled: number
  /** Number of expected recipients whose domain was held when the email was sent. */
  held: number
  /** `mark recipient` of accepted emails without a final state. */
  lost: string[]
  duplicates: Duplicate[]
  /** Number of accepted emails that a client sent again over SMTP because a kill lost the reply (RFC 1047). */
  resent: number
  /** Marks that became two emails despite a single idempotency key or acknowledgment. */
  twice: string[]
  /**
   * Recipients that were both delivered and refused, and copies that no client sent, that have a different text, or
   * that arrived before their scheduled time or while held.
   */
  wrong: string[]
  /** Emails refused permanently. */
  refused: string[]
  /**
   * The kill that caused the most duplicates, and the number of deliveries in flight then (`Kill.inFlight`). Null when
   * no kill caused any.
   */
  mostOfOneKill: KillCount | null
  /** Kills that caused more duplicates than deliveries were in flight. */
  beyond: KillCount[]
  /** The longest time until other nodes freed the leases of a killed or stopped node, in milliseconds. */
  longestFreeMs: number | null
  /** Numbers of the kills whose leases were freed too late. */
  freedLate: number[]
}

/** Maximum time until the leases of a lost node are free, in milliseconds. */
const FREE_MS = 20_000

/**
 * How long after the 250 a kill explains a duplicate regardless of the connection, in milliseconds, if it isn't known
 * which deliveries were in flight. Settling takes milliseconds; this allows for a busy machine.
 */
const SETTLE_MS = 5000

/** The number of duplicates that a kill caused, and of deliveries that were in flight. */
export interface KillCount {
  kill: number
  copies: number
  inFlight: number | null
}

/** The expected result for one mark: its recipients, if it was accepted. */
interface Promised extends Pick<SentEmail, 'mark' | 'recipients' | 'ids' | 'at' | 'batch' | 'notBefore'> {
  accepted: boolean
}

const promises = (sent: SentEmail): Promised[] =>
  sent.tries.length > 0
    ? sent.tries.map(({ mark, accepted }) => ({ ...sent, mark, accepted, ids: [] }))
    : [{ ...sent, accepted: sent.ids.length > 0 }]

/** Evaluates the ledger. An email without a response may arrive or not, but must not arrive twice without a kill. */
export function evaluateLedger(ledger: Ledger): Verdict {
  const { kills, sent, copies, holds, rejected } = ledger
  const byMark = Map.groupBy(copies, ({ mark }) => mark)
  const hits = hitsOf(kills)
  const mayBeBlamed = blameOf(ledger)
  const held = Map.groupBy(holds, ({ domain }) => domain)
  const verdict: Verdict = {
    accepted: 0,
    expected: 0,
    delivered: 0,
    bounced: 0,
    batched: 0,
    scheduled: 0,
    held: 0,
    lost: [],
    duplicates: [],
    resent: 0,
    twice: [],
    wrong: [],
    refused: sent.flatMap(({ mark, refused }) => (refused === null ? [] : [`${mark}: ${refused}`])),
    mostOfOneKill: null,
    beyond: [],
    longestFreeMs: kills.reduce<number | null>(
      (most, { freedMs }) => (freedMs === null ? most : Math.max(most ?? 0, freedMs)),
      null,
    ),
    freedLate: kills.filter(({ freedMs }) => (freedMs ?? 0) > FREE_MS).map(({ number }) => number),
  }
  const known = new Set<string>()
  for (const promised of sent.flatMap(promises)) {
    known.add(promised.mark)
    judgeMark(promised, byMark.get(promised.mark) ?? [], {
      rejected,
      hits,
      mayBeBlamed,
      holds: held,
      verdict,
    })
  }
  for (const one of sent) {
    const again = resentOf(one, byMark)
    verdict.resent += again.length
    for (const { mark, run } of again)
      if (!hits.has(run)) verdict.wrong.push(`${mark}: accepted without an answer, and no kill took it`)
  }
  for (const { mark, recipient } of copies)
    if (!known.has(mark)) verdict.wrong.push(`${mark} ${recipient}: nobody sent it`)
  const counts = countsOf(kills, verdict.duplicates)
  verdict.mostOfOneKill = counts.toSorted((a, b) => b.copies - a.copies)[0] ?? null
  verdict.beyond = counts.filter(({ copies: made, inFlight }) => inFlight !== null && made > inFlight)
  return verdict
}

/** Returns the kills that caused duplicates, with their numbers. */
function countsOf(kills: readonly Kill[], duplicates: readonly Duplicate[]): KillCount[] {
  const blamed = duplicates.flatMap((one) => one.kills ?? [])
  return kills
    .map(({ number, inFlight }) => ({
      kill: number,
      copies: blamed.filter((kill) => kill === number).length,
      inFlight,
    }))
    .filter(({ copies }) => copies > 0)
}

/** Returns the kills that hit each run. */
function hitsOf(kills: readonly Kill[]): Map<number, Kill[]> {
  const hits = new Map<number, Kill[]>()
  for (const kill of kills) for (const run of kill.runs) hits.set(run, [...(hits.get(run) ?? []), kill])
  return hits
}

interface Bench {
  rejected: Set<string>
  /** By run. */
  hits: Map<number, Kill[]>
  /** Whether a kill may have come between a copy's 250 and its settling. */
  mayBeBlamed: (kill: Kill, copy: AcceptedCopy) => boolean
  /** By domain. */
  holds: Map<string, Hold[]>
  verdict: Verdict
}

function judgeMark(promised: Promised, copies: AcceptedCopy[], bench: Bench): void {
  const { rejected, verdict } = bench
  const { mark, recipients, accepted, ids } = promised
  const messageIds = new Set(copies.map(({ messageId }) => messageId))
  if (messageIds.size > 1 || ids.length > 1) verdict.twice.push(mark)
  else if (ids[0] !== undefined && copies.some(({ messageId }) => !messageId.includes(ids[0]!)))
    verdict.twice.push(mark)
  if (accepted) {
    verdict.accepted += 1
    if (promised.batch !== null) verdict.batched += 1
    if (promised.notBefore !== null) verdict.scheduled += 1
  }
  const byRecipient = Map.groupBy(copies, ({ recipient }) => recipient)
  for (const recipient of recipients) {
    const own = byRecipient.get(recipient) ?? []
    byRecipient.delete(recipient)
    const refused = rejected.has(recipient)
    if (accepted) {
      verdict.expected += 1
      if (own.length > 0) verdict.delivered += 1
      else if (refused) verdict.bounced += 1
      else verdict.lost.push(`${mark} ${recipient}`)
    }
    if (own.length > 0 && refused) verdict.wrong.push(`${mark} ${recipient}: delivered and refused`)
    if (own.some(({ whole }) => !whole)) verdict.wrong.push(`${mark} ${recipient}: arrived with another text`)
    judgeTimes(promised, recipient, own, bench)
    if (own.length > 1) verdict.duplicates.push(duplicateOf(own, bench))
  }
  for (const recipient of byRecipient.keys())
    verdict.wrong.push(`${mark} ${recipient}: not one of its recipients`)
}

/** Checks that scheduled mail didn't arrive before its time, and that held mail didn't arrive before its release. */
function judgeTimes(
  { mark, at, accepted, notBefore }: Promised,
  recipient: string,
  copies: AcceptedCopy[],
  { holds, verdict }: Bench,
): void {
  const first = Math.min(...copies.map((copy) => copy.at))
  if (notBefore !== null && first < notBefore)
    verdict.wrong.push(`${mark} ${recipient}: delivered ${notBefore - first} ms before its time`)
  const ofDomain = holds.get(recipient.slice(recipient.lastIndexOf('@') + 1)) ?? []
  const hold = ofDomain.find(({ from, until }) => from <= at && at < (until ?? Infinity))
  if (!hold) return
  if (accepted) verdict.held += 1
  if (first < (hold.until ?? Infinity))
    verdict.wrong.push(`${mark} ${recipient}: delivered while its domain was held`)
}

/**
 * Explains duplicates: each copy after the first needs a kill that hit the run of the previous copy before that copy
 * was settled.
 */
function duplicateOf(copies: AcceptedCopy[], { hits, mayBeBlamed }: Bench): Duplicate {
  const inOrder = copies.toSorted((a, b) => a.at - b.at)
  const { mark, recipient } = inOrder[0]!
  const kills = inOrder.slice(1).map((copy, index) => {
    const before = inOrder[index]!
    const kill = hits.get(before.run)?.find((one) => isBetween(one, before, copy) && mayBeBlamed(one, before))
    return kill?.number
  })
  const explained = kills.every((kill) => kill !== undefined) ? kills : null
  return { mark, recipient, copies: copies.length, kills: explained }
}

/**
 * Whether a kill came before the second copy, and the first copy came before the end of the kill: a stopped node must
 * not continue its deliveries.
 */
const isBetween = ({ at, until }: Kill, before: AcceptedCopy, copy: AcceptedCopy): boolean =>
  copy.at > at && (until === null ? copy.run !== before.run : before.at <= until)

/**
 * Returns a function that decides whether a kill explains a copy: it does if the copy's delivery was in flight then. If
 * only the number of these is known, a kill soon after the 250 explains the copy. A later kill does for the last two
 * messages of a connection that it broke: a message only begins when the one before the last is stored, which may take
 * long on a busy machine. No kill does after the daemon has reported the delivery as settled.
 */
function blameOf({ kills, copies, quit, told }: Ledger): Bench['mayBeBlamed'] {
  const settled = new Map<string, number>()
  for (const { emailId, type, at, to } of told)
    if (type === 'email.delivered')
      for (const one of to) {
        const key = `${emailId} ${one}`
        settled.set(key, Math.min(at, settled.get(key) ?? Infinity))
      }
  const last = new Set<AcceptedCopy>()
  const broken = copies.filter(({ connection }) => !quit.has(connection))
  for (const own of Map.groupBy(broken, ({ connection }) => connection).values()) {
    const two = [...Map.groupBy(own, ({ mark, at }) => `${mark} ${at}`).values()].slice(-2)
    for (const copy of two.flat()) last.add(copy)
  }
  const leased = new Map(kills.map((kill) => [kill, kill.leased && new Set(kill.leased)]))
  return (kill, copy) => {
    const emailId = copy.messageId.slice(1, copy.messageId.indexOf('@'))
    const delivery = `${emailId} ${copy.recipient}`
    const inFlight = leased.get(kill)
    if (inFlight) return inFlight.has(delivery)
    if ((settled.get(delivery) ?? Infinity) <= kill.at) return false
    return kill.at - copy.at <= SETTLE_MS || last.has(copy)
  }
}

/** Finds attempts whose message arrived although they got no reply, if the message of another attempt arrived, too. */
function resentOf({ tries }: SentEmail, byMark: Map<string, AcceptedCopy[]>): SmtpAttempt[] {
  const arrived = tries.filter(({ mark }) => byMark.has(mark))
  return arrived.length > 1 ? arrived.filter(({ accepted }) => !accepted) : []
}

/**
 * Whether the test passed: nothing lost, no duplicate without a kill, no more duplicates than were in flight, no key
 * used twice, no lease freed late.
 */
export function didPass({ lost, duplicates, twice, wrong, refused, beyond, freedLate }: Verdict): boolean {
  const faults = [...lost, ...twice, ...wrong, ...refused, ...beyond, ...freedLate]
  return faults.length === 0 && duplicates.every(({ kills }) => kills !== null)
}
