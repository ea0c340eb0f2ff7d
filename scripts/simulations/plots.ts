/** Draws the pictures of docs/deliverability.md from the counts of a run's receivers. Pure. */
import { countBy, putOffs, takenBySource, transactionsOf } from '../../test/world/simulation/curves.ts'
import { laneFinder, type Run } from '../../test/world/simulation/run.ts'
import { drawChart } from '../../appliance/simulation/chart.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The receiver to draw: the largest one, which enforces a rate limit. */
const DRAWN = 'gmail'

/** SVGs by file name in docs/images. */
export type Plots = Record<string, string>

/**
 * Draws both pictures.
 * @param plan messages per day of a warm-up, from the first day on
 */
export function drawPlots(run: Run, plan: readonly number[]): Plots {
  return { 'warm-up.svg': warmUp(run, plan), 'back-off.svg': backOff(run) }
}

/** Further receivers to draw. They have the same warm-up plan. */
const ALSO_DRAWN = ['outlook', 'yahoo']

function warmUp({ records, begin, days, sourceIps }: Run, plan: readonly number[]): string {
  const midnight = Math.floor(begin / DAY) * DAY
  const [young, warm] = sourceIps as [string, string]
  const perDay = (personality: string, ip: string): number[] =>
    countBy(takenBySource(records, personality).get(ip) ?? [], midnight, DAY, days.length)
  const points = (counts: readonly number[]) => counts.map((y, at) => ({ x: at + 1, y }))
  const own = [DRAWN, ...ALSO_DRAWN].map((name) => ({ name, counts: perDay(name, young) }))
  const overflow = perDay(DRAWN, warm)
  const most = Math.max(...overflow, ...own.flatMap(({ counts }) => counts))
  const planned = points(plan.slice(0, days.length))
  return drawChart({
    title: 'Warm-up of a new address',
    caption:
      'Messages that the receivers took on each day of UTC. What is over the plan goes through the warm address.',
    x: 'day',
    y: 'messages a day',
    series: [
      {
        name: 'plan',
        style: 'dashed',
        points: planned.slice(0, 1 + planned.filter(({ y }) => y <= most).length),
      },
      ...own.map(({ name, counts }) => ({
        name: `${name}, new address`,
        style: 'line' as const,
        points: points(counts),
      })),
      { name: `${DRAWN}, warm address`, style: 'line', points: points(overflow) },
    ],
    top: most,
  })
}

/** Minutes to draw before the first throttling, and in total. */
const BEFORE = 10
const SPAN = 110
/** Number of samples of the allowed rate per minute. */
const STEPS = 4

function backOff({ records, sourceIps, lanes }: Run): string {
  const firsts = sourceIps.map((ip) => ({ ip, at: putOffs(records, DRAWN, ip)[0] ?? Infinity }))
  const { ip, at } = firsts.toSorted((a, b) => a.at - b.at)[0]!
  const first = Number.isFinite(at) ? at : records.connections[0]!.openedAt
  const from = first - BEFORE * MINUTE
  const counts = countBy(transactionsOf(records, DRAWN, ip), from, MINUTE, SPAN)
  const offs = putOffs(records, DRAWN, ip).filter((one) => one < from + SPAN * MINUTE)
  const lane = laneFinder(lanes)(ip, DRAWN)!
  const rates = Array.from({ length: SPAN * STEPS }, (_, n) => ({
    x: n / STEPS - BEFORE,
    y: lane.at(from + (n / STEPS) * MINUTE).rate,
  }))
  return drawChart({
    title: 'Back-off after a throttling',
    caption:
      'One address and the Gmail-like receiver: what the lane allowed, what came, and when it was told 421-4.7.28.',
    x: 'minutes since the first 421-4.7.28',
    y: 'messages a minute (logarithmic)',
    logarithmic: true,
    series: [
      { name: 'allowed by the lane', style: 'steps', points: rates },
      { name: 'seen by the receiver', style: 'steps', points: counts.map((y, n) => ({ x: n - BEFORE, y })) },
      {
        name: 'answered 421-4.7.28',
        style: 'marks',
        points: offs.map((one) => ({ x: (one - from) / MINUTE - BEFORE, y: 0 })),
      },
    ],
  })
}
