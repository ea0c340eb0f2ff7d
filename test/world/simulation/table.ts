import { mostInAMinute } from './check.ts'
import { PERSONALITIES } from './personalities.ts'
import type { Run } from './run.ts'

/** Formats a run as a table for humans, one line per personality. */
export function tableOf({ plan, outcomes, records, begin }: Run): string {
  const head = [
    'personality',
    'mail',
    'delivered',
    'bounced',
    'expired',
    'dials',
    'abreast',
    'on one',
    'a minute',
    'last, h',
  ]
  const states = Map.groupBy(outcomes, ({ recipient }) => plan.deliveries.get(recipient)!.personality.name)
  const connections = Map.groupBy(records.connections, ({ personality }) => personality)
  const lasts = new Map<string, number>()
  for (const { personality, verdict, at } of records.answers)
    if (verdict === 'said') lasts.set(personality, Math.max(at, lasts.get(personality) ?? 0))
  const rows = PERSONALITIES.map(({ name }) => {
    const own = states.get(name) ?? []
    const dials = connections.get(name) ?? []
    const count = (state: string): number => own.filter((one) => one.state === state).length
    const bySource = [...Map.groupBy(dials, ({ ip }) => ip).values()]
    const last = lasts.get(name)
    return [
      name,
      own.length,
      count('delivered'),
      count('bounced'),
      count('expired'),
      dials.length,
      most(dials.map(({ abreast }) => abreast)),
      most(dials.map(({ transactions }) => transactions.length)),
      most(bySource.map(mostInAMinute)),
      last === undefined ? '-' : ((last - begin) / 3_600_000).toFixed(1),
    ].map(String)
  })
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)))
  const line = (cells: string[]): string =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join('  ')
  return [line(head), ...rows.map(line)].join('\n')
}

const most = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.max(a, b), 0)
