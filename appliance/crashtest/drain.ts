/** Waits until all mail has reached a final state, and asks for the final report. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import type { ApiTarget } from './api-client.ts'
import { collectReceivedMail, findUnfinishedEmails } from './final-report.ts'
import type { Ledger } from './ledger.ts'
import { evaluateLedger } from './verdict.ts'
import { collectEvents } from './webhook-events.ts'

/** The traffic that clients and other servers send through the daemon. */
export interface CrashTraffic {
  /** Allows the clients to send this many more emails, and other servers this many messages. */
  allow(emails: number, arrivals: number): void
  /** Starts no new messages; resolves when every message has a response. */
  finish(): Promise<void>
}

/** Time limit for the last daemons to process all queued mail, in milliseconds. */
const DRAIN_MS = 180_000
/** Maximum number of problems of each kind that are returned. */
const MOST_SHOWN = 20

/**
 * Waits until every client has a response and all queued mail is final and reported. Then asks for the report.
 * @param retry retries all queued mail
 * @returns problems
 */
export async function drainMail(
  asked: ApiTarget,
  {
    ledger,
    clock,
    traffic,
    retry,
  }: { ledger: Ledger; clock: Clock; traffic: CrashTraffic | undefined; retry: () => Promise<void> },
): Promise<string[]> {
  const late = clock.now() + DRAIN_MS
  let unanswered = true
  const finished = (traffic?.finish() ?? Promise.resolve()).then(() => (unanswered = false))
  while (clock.now() < late) {
    await retry()
    await Promise.race([finished, pause(1500)])
    if (unanswered || evaluateLedger(ledger).lost.length > 0) continue
    const { ids, unfinished } = await findUnfinishedEmails(asked, ledger)
    if (unfinished.length === 0) unfinished.push(...(await collectReceivedMail(asked, ledger)))
    if (unfinished.length === 0) return collectEvents(asked, ids, { ledger, clock })
    await pause(500)
  }
  if (unanswered) return ['A client was not answered in three minutes.']
  const { unfinished } = await findUnfinishedEmails(asked, ledger)
  const left = unfinished.length > 0 ? unfinished : await collectReceivedMail(asked, ledger)
  return [
    ...left.slice(0, MOST_SHOWN),
    ...(left.length > MOST_SHOWN ? [`and ${left.length - MOST_SHOWN} more`] : []),
  ]
}
