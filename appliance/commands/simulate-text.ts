/** Formats the output of `posthaste simulate`. Pure. */
import type { ReceiverLimitName } from '../mail/receiver.ts'
import type { ReceiverFigures, SimulationResult } from '../simulation/simulation.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'

const WORDS: Record<ReceiverLimitName, string> = {
  connections: 'simultaneous connections',
  messages_per_connection: 'messages per connection',
  messages_per_minute: 'messages in 60 seconds',
  recipients_per_message: 'recipients per message',
}

/** Formats the result as lines for people. */
export function describeSimulation(
  result: SimulationResult,
  { start, days }: { start: number; days: number },
): string[] {
  const { receivers, sources, pool, recipients } = result
  const ips = sources.map(({ ip, warmUpSince }) =>
    warmUpSince === null
      ? `${ip} (warm)`
      : `${ip} (warm-up since ${formatInstant(warmUpSince).slice(0, 10)})`,
  )
  const rows = receivers.filter(({ mail }) => mail > 0).map(rowOf)
  return [
    ...wrapParagraph(
      `${recipients} emails, starting ${formatInstant(start)} UTC, from pool ${pool}: ${ips.join(', ')}`,
    ),
    '',
    ...formatTable(['RECEIVER', 'MAIL', 'DAY 1', 'DONE', 'REFUSED', 'DEFERRED', 'PEAK', 'BROKEN'], rows),
    '',
    ...totalLines(result, days),
    ...brokenLines(receivers),
  ]
}

function rowOf({ name, mail, firstDay, waiting, expired, ...one }: ReceiverFigures): string[] {
  const done = one.finishedAfter === null ? '-' : duration(one.finishedAfter)
  return [
    name.slice(0, 16),
    String(mail),
    String(firstDay),
    waiting > 0 ? `${waiting} left` : done,
    String(one.refused + expired),
    String(one.deferrals),
    String(one.peaks.messagesPerMinute),
    one.broken.length > 0 ? 'yes' : 'no',
  ]
}

function totalLines(result: SimulationResult, days: number): string[] {
  const sum = (of: (one: ReceiverFigures) => number): number =>
    result.receivers.reduce((total, one) => total + of(one), 0)
  const { attemptedAfter, finishedAfter, transactional } = result
  const left = sum(({ waiting }) => waiting)
  const first =
    attemptedAfter === null
      ? `Not every recipient was attempted within ${days} days.`
      : `Every recipient was attempted after ${duration(attemptedAfter)}.`
  const last =
    finishedAfter === null
      ? `${left} emails were left after ${days} days.`
      : `No mail was left after ${duration(finishedAfter)}.`
  return [
    ...wrapParagraph(`${sum(({ delivered }) => delivered)} delivered. ${first} ${last}`),
    ...wrapParagraph(
      transactional.p95 === null
        ? 'No transactional mail.'
        : `Transactional mail: ${transactional.mail} emails; delay p50 ${duration(transactional.p50!)}, p95 ${duration(transactional.p95)}, longest ${duration(transactional.longest!)}.`,
    ),
  ]
}

function brokenLines(receivers: readonly ReceiverFigures[]): string[] {
  const lines = receivers.flatMap(({ name, provider, broken }) =>
    broken.flatMap(({ limit, most, seen, source }) =>
      wrapParagraph(
        `${name} allows ${most} ${WORDS[limit]}, but got ${seen}. Lower the limit of provider ${provider}. Source: ${source}`,
      ),
    ),
  )
  return lines.length === 0 ? ['No published limit was broken.'] : ['', ...lines]
}

/** Formats a duration: `0.7 s`, `41 min`, `5.2 h`, `2.1 d`. */
function duration(ms: number): string {
  const rounded = (value: number): string =>
    String(value < 10 ? Math.round(value * 10) / 10 : Math.round(value))
  const seconds = ms / 1000
  if (seconds < 120) return `${rounded(seconds)} s`
  if (seconds < 7200) return `${rounded(seconds / 60)} min`
  return seconds < 48 * 3600 ? `${rounded(seconds / 3600)} h` : `${rounded(seconds / 86_400)} d`
}

const secondsOf = (ms: number | null): number | null => (ms === null ? null : ms / 1000)

/** Formats the result as the object for --json, with durations in seconds. */
export function presentSimulation(
  result: SimulationResult,
  { start, days, seed }: { start: number; days: number; seed: number },
): object {
  const { recipients, receivers, transactional, sources, pool } = result
  return {
    object: 'simulation',
    starts_at: new Date(start).toISOString(),
    days,
    seed,
    recipients,
    pool,
    sources: sources.map(({ ip, warmUpSince }) => ({
      ip,
      warm_up_since: warmUpSince === null ? null : new Date(warmUpSince).toISOString(),
    })),
    attempted_after: secondsOf(result.attemptedAfter),
    finished_after: secondsOf(result.finishedAfter),
    transactional: {
      emails: transactional.mail,
      delay_p50: secondsOf(transactional.p50),
      delay_p95: secondsOf(transactional.p95),
      delay_longest: secondsOf(transactional.longest),
    },
    receivers: receivers.map(presentReceiver),
  }
}

const presentReceiver = (one: ReceiverFigures): object => ({
  id: one.id,
  name: one.name,
  provider: one.provider,
  emails: one.mail,
  delivered: one.delivered,
  delivered_first_day: one.firstDay,
  refused: one.refused,
  deferrals: one.deferrals,
  expired: one.expired,
  waiting: one.waiting,
  finished_after: secondsOf(one.finishedAfter),
  peak: {
    connections: one.peaks.connections,
    messages_per_connection: one.peaks.messagesPerConnection,
    messages_per_minute: one.peaks.messagesPerMinute,
  },
  broken_limits: one.broken.map(({ limit, most, seen, source }) => ({ limit, most, seen, source })),
})
