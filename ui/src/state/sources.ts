/** Texts for the page of sending IPs. Pure. */
import type { Lane } from '../../../appliance/api/shaping.ts'
import type { Source } from '../../../appliance/api/sources.ts'

type Finding = Source['checks'][number]
type Status = Finding['status']

const WORST: readonly Status[] = ['failed', 'warning', 'skipped', 'ok']

/** Returns the worst status of the checks whose id starts with `prefix`; null if there are none. */
export function findWorstStatus(checks: readonly Finding[], prefix: string): Status | null {
  const found = checks.filter(({ id }) => id.startsWith(prefix)).map(({ status }) => status)
  return WORST.find((status) => found.includes(status)) ?? null
}

/** Formats an IP; `auto` means that the system chooses it. */
export const formatAddress = (ip: string): string => (ip === 'auto' ? 'Chosen by the system' : ip)

const isSound = ({ state, checks }: Pick<Source, 'state' | 'checks'>): boolean =>
  state === 'active' && !checks.some(({ status }) => status === 'failed' || status === 'warning')

/** Summarizes the state of all IPs in a sentence. */
export function summarizeSources(sources: readonly Pick<Source, 'state' | 'checks'>[]): string {
  const wrong = sources.filter((source) => !isSound(source)).length
  if (sources.length === 1)
    return wrong === 0 ? 'Your IP is in use. No problems found.' : 'Your IP needs attention.'
  if (wrong === 0) return `All ${sources.length} IPs are in use. No problems found.`
  return `${wrong} of ${sources.length} IPs ${wrong === 1 ? 'needs' : 'need'} attention.`
}

/** Returns pools with at least one IP; always includes `default`. */
export const listPools = (sources: readonly Pick<Source, 'pool'>[]): string[] => [
  ...new Set(['default', ...sources.map(({ pool }) => pool)]),
]

/** Parses a warm-up plan: whole numbers, separated by spaces or commas. Returns null if it is invalid. */
export function parsePlan(text: string): number[] | null {
  const words = text.split(/[\s,]+/).filter(Boolean)
  return words.every((word) => /^\d{1,9}$/.test(word)) ? words.map(Number) : null
}

/** Returns the warm-up progress of an IP at the provider with the least progress. */
export function getSlowestWarmUp(lanes: readonly Lane[], ip: string) {
  const plans = lanes.flatMap((lane) =>
    lane.source === ip && lane.warm_up ? [{ ...lane.warm_up, name: lane.provider_name }] : [],
  )
  return plans.sort((a, b) => a.day - b.day || b.sent / b.share - a.sent / a.share)[0]
}
