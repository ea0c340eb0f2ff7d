/** Evaluates the messages that the public MX accepted: each must be stored once, and its event received once. Pure. */
import type { Arrival, Ledger } from './ledger.ts'

export interface ArrivalsVerdict {
  /** Number of messages to receiving domains acknowledged with 250. */
  emails: number
  /** Number of delivery reports acknowledged with 250. */
  reports: number
  /** Acknowledged messages that aren't stored. */
  lost: string[]
  /**
   * Number of attempts that were stored although a kill lost the reply, so that the sending server repeated them (RFC
   * 1047).
   */
  resent: number
  /** Messages stored twice, unknown messages, and messages stored with another text. */
  wrong: string[]
  /** Acknowledged messages whose event the webhook endpoint never received, or received under several IDs. */
  untold: string[]
  /** Messages refused permanently. */
  refused: string[]
}

type Evidence = Pick<Ledger, 'kills' | 'arrivals' | 'received' | 'returned' | 'told'>

/** Evaluates the messages to the public MX. Without the daemon's final report, nothing counts as lost. */
export function evaluateArrivals(ledger: Evidence): ArrivalsVerdict {
  const [reports, emails] = partition(ledger.arrivals, ({ about }) => about !== null)
  const verdict: ArrivalsVerdict = {
    emails: emails.filter(isAccepted).length,
    reports: reports.filter(isAccepted).length,
    lost: [],
    resent: 0,
    wrong: [],
    untold: [],
    refused: ledger.arrivals.flatMap(({ mark, refused }) =>
      refused === null ? [] : [`${mark}: ${refused}`],
    ),
  }
  if (ledger.received === null) return verdict
  judgeEmails(emails, ledger, verdict)
  const bounced = idsByRecipient(ledger.told)
  for (const { mark, about } of reports.filter(isAccepted)) {
    const stored = ledger.returned[about!.emailId] ?? 0
    const name = `${mark} ${about!.recipient}`
    if (stored === 0) verdict.lost.push(name)
    const ids = bounced.get(about!.recipient)?.size ?? 0
    if (ids !== 1) verdict.untold.push(`${name}: ${ids} bounce events`)
  }
  for (const [emailId, stored] of Object.entries(ledger.returned)) {
    const tries = reports.filter(({ about }) => about!.emailId === emailId).flatMap((one) => one.tries)
    const accepted = tries.filter((one) => one.accepted).length
    if (stored > tries.length)
      verdict.wrong.push(`${emailId}: ${stored} reports are stored, ${tries.length} were sent`)
    verdict.resent += Math.max(0, stored - accepted)
  }
  return verdict
}

function judgeEmails(
  emails: readonly Arrival[],
  { kills, received, told }: Evidence,
  verdict: ArrivalsVerdict,
): void {
  const stored = Map.groupBy(received ?? [], ({ mark }) => mark)
  const ended = new Set(kills.flatMap(({ runs }) => runs))
  const ids = Map.groupBy(
    told.filter(({ type }) => type === 'email.received'),
    ({ emailId }) => emailId,
  )
  const sent = new Set<string>()
  for (const { mark, accepted, run } of emails.flatMap(({ tries }) => tries)) {
    sent.add(mark)
    const copies = stored.get(mark) ?? []
    if (accepted && copies.length === 0) verdict.lost.push(mark)
    if (copies.length > 1) verdict.wrong.push(`${mark}: stored ${copies.length} times`)
    if (!accepted && copies.length > 0) {
      verdict.resent++
      if (!ended.has(run)) verdict.wrong.push(`${mark}: stored without a reply, and no kill took it`)
    }
    for (const { id, whole } of copies) {
      if (!whole) verdict.wrong.push(`${mark}: stored with another text`)
      const events = new Set(ids.get(id)?.map((one) => one.id)).size
      if (events !== 1) verdict.untold.push(`${mark}: ${events} events`)
    }
  }
  for (const mark of stored.keys()) if (!sent.has(mark)) verdict.wrong.push(`${mark}: nobody sent it`)
}

const isAccepted = ({ tries }: Arrival): boolean => tries.some(({ accepted }) => accepted)

function partition<T>(items: readonly T[], belongs: (item: T) => boolean): [T[], T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))]
}

/** Returns the IDs of the bounce events about each recipient. */
function idsByRecipient(told: Ledger['told']): Map<string, Set<string>> {
  const ids = new Map<string, Set<string>>()
  for (const { id, type, to } of told)
    if (type === 'email.bounced') for (const one of to) ids.set(one, (ids.get(one) ?? new Set()).add(id))
  return ids
}

/** Whether the test passed for received mail. */
export const didArrivalsPass = ({ lost, wrong, untold, refused }: ArrivalsVerdict): boolean =>
  [...lost, ...wrong, ...untold, ...refused].length === 0
