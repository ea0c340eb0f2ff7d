/** Measures the queries of the metrics page, and how long each call blocks the reader thread. */
import {
  parseBreakdownQuery,
  parseMetricsQuery,
  computeBreakdown,
  computeMetricsReport,
} from '../../appliance/events/metrics.ts'
import { openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { sumUpMetrics } from '../../appliance/housekeeping/housekeeping.ts'
import { TEAM_ID } from './many-emails.ts'
import { quantile } from './measured.ts'

const DAY = 86_400_000
const ZONE = 'America/New_York'

/** Wraps a storage. `take` returns the durations of the reader-thread calls since the last `take`, in milliseconds. */
function timed(storage: Storage): { storage: Storage; take: () => number[] } {
  let calls: number[] = []
  const wrapped = new Proxy(storage, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return async (...given: unknown[]) => {
        const began = performance.now()
        const answer: unknown = await Reflect.apply(method, target, given)
        calls.push(performance.now() - began)
        return answer
      }
    },
  })
  return { storage: wrapped, take: () => [calls, (calls = [])][0]! }
}

/** Returns the page's queries over `days`: one for each chart, and the tables below. */
function questions(days: number, now: number): [name: string, ask: (storage: Storage) => Promise<unknown>][] {
  const range = {
    start_date: new Date(now - days * DAY).toISOString(),
    end_date: new Date(now).toISOString(),
    timezone: ZONE,
  }
  const breakdown = (by: string, more: Record<string, string> = {}) => {
    const asked = parseBreakdownQuery({ ...range, ...more, by, granularity: 'daily' }, now)
    return (storage: Storage) => computeBreakdown(storage, TEAM_ID, asked, new Map(), now)
  }
  const plain = parseMetricsQuery({ ...range, dimensions: 'period' }, now)
  return [
    ['by period', breakdown('period')],
    ['by period, one provider', breakdown('period', { provider: 'gmail' })],
    ['by domain', breakdown('domain')],
    ['by provider', breakdown('provider')],
    ['by bounce category', breakdown('bounce_category')],
    ['GET /emails/metrics by period', (storage) => computeMetricsReport(storage, TEAM_ID, plain, now)],
  ]
}

/** Runs the hourly roll-up of past days, and prints how long each call blocked the writer thread. */
export async function runRollUp(dataDir: string, now: number): Promise<void> {
  const opened = await openSqlite({ dataDir })
  const { storage, take } = timed(opened)
  const before = process.cpuUsage()
  const days = await sumUpMetrics(storage, { now: () => now })
  const { user, system } = process.cpuUsage(before)
  const calls = take()
  if (days > 0)
    console.log(
      `\nsums of ${days} days: p50 ${quantile(calls, 0.5).toFixed(1)} ms, longest ${Math.max(...calls).toFixed(1)} ms, ` +
        `processor time ${((user + system) / 1000 / days).toFixed(1)} ms a day`,
    )
  await opened.close()
}

/** Runs each query several times, over 90 days and over 7, and prints how long it took. */
export async function measureMetrics(dataDir: string, rounds: number, now: number): Promise<void> {
  const opened = await openSqlite({ dataDir })
  const { storage, take } = timed(opened)
  console.log(
    '\nmetrics                               days  calls  response p50   longest       one call p95  longest       processor time',
  )
  for (const days of [7, 90])
    for (const [name, ask] of questions(days, now)) {
      const answers: number[] = []
      const calls: number[] = []
      const before = process.cpuUsage()
      let count = 0
      for (let round = 0; round < rounds; round++) {
        const began = performance.now()
        await ask(storage)
        answers.push(performance.now() - began)
        const these = take()
        count = these.length
        calls.push(...these)
      }
      const { user, system } = process.cpuUsage(before)
      const ms = (value: number): string => `${value.toFixed(1)} ms`.padEnd(14)
      console.log(
        `${name.padEnd(38)}${String(days).padEnd(6)}${String(count).padEnd(7)}` +
          `${ms(quantile(answers, 0.5))}${ms(Math.max(...answers))}${ms(quantile(calls, 0.95))}${ms(Math.max(...calls))}${ms((user + system) / 1000 / rounds)}`,
      )
    }
  await opened.close()
}
