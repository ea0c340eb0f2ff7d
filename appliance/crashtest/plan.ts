/** Which kills there will be: a pure function of their number and the seed. */
import { CRASH_POINTS, type CrashPoint } from '../watch/crash-points.ts'

/** One kill. */
export type PlannedKill =
  /** From outside, so many milliseconds after the process was started, or after it said that it was ready. */
  | { kind: 'random'; since: 'spawn' | 'ready'; afterMs: number }
  /** The daemon kills itself at the count-th time that it passes a point. */
  | { kind: 'point'; point: CrashPoint; count: number }
  /** From outside, while a clean stop writes the log into the database. */
  | { kind: 'checkpoint-midway' }

/** What a kill is called in the table. */
export function nameOf(kill: PlannedKill): string {
  if (kill.kind !== 'random') return kill.kind === 'point' ? kill.point : kill.kind
  return kill.since === 'spawn' ? 'random, during start' : 'random'
}

/** How often a point may be passed before it strikes; what is passed rarely must strike soon. */
const MOST_PASSES: Record<CrashPoint, number> = {
  'message-file': 2,
  'accept-before-commit': 40,
  'accept-after-commit': 40,
  'claim-before-commit': 5,
  'claim-after-commit': 5,
  connect: 6,
  data: 40,
  body: 40,
  'remote-250': 40,
  'settle-before-commit': 40,
  'settle-after-commit': 40,
  'expand-before-commit': 1,
  'expand-after-commit': 1,
  'enqueue-before-commit': 1,
  'enqueue-after-commit': 1,
  webhook: 20,
  retention: 1,
  migration: 2,
  checkpoint: 1,
}

/** Points that people ask about and that this test does not get to, with the reason. */
export const UNREACHABLE: Record<string, string> = Object.fromEntries(
  Object.entries(CRASH_POINTS)
    .filter(([, { reach }]) => reach === 'broadcast')
    .map(([name]) => [name, 'This test sends no broadcast.']),
)

/** The points that this test gets to. */
const REACHED = (Object.keys(CRASH_POINTS) as CrashPoint[]).filter((point) => !(point in UNREACHABLE))

/** Only a new database is migrated: that comes first, and once. */
const isRepeatable = (point: CrashPoint): boolean => CRASH_POINTS[point].reach !== 'start'

/**
 * The kills in their order: first a migration of the new database, then every other named point once, then random moments
 * (about half), named points, and moments of the start.
 */
export function planKills(kills: number, dice: Dice): PlannedKill[] {
  const repeatable = REACHED.filter(isRepeatable)
  const at = (point: CrashPoint): PlannedKill => ({
    kind: 'point',
    point,
    count: dice.between(1, MOST_PASSES[point]),
  })
  const once: PlannedKill[] = [
    ...REACHED.filter((point) => !isRepeatable(point)).map(at),
    ...dice.shuffled([
      ...repeatable.filter((point) => point !== 'retention').map(at),
      { kind: 'checkpoint-midway' } as const,
    ]),
    // A start removes what was finished before it, so something has to be.
    at('retention'),
  ]
  const further = (): PlannedKill => {
    const draw = dice.next()
    if (draw < 0.35) return at(repeatable[dice.between(0, repeatable.length - 1)]!)
    if (draw < 0.37) return { kind: 'checkpoint-midway' }
    if (draw < 0.45) return { kind: 'random', since: 'spawn', afterMs: dice.between(0, 900) }
    return { kind: 'random', since: 'ready', afterMs: dice.between(5, 600) }
  }
  const rest = Array.from({ length: Math.max(0, kills - once.length) }, further)
  return [...once.slice(0, kills), ...rest]
}

/** Numbers that look random and are the same for the same seed: a run can be asked for again. */
export interface Dice {
  /** A number in [0, 1). */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** The items in another order. */
  shuffled<T>(items: readonly T[]): T[]
}

/** A 32-bit generator: an odd constant added, the bits of the sum mixed by multiplications and shifts. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    shuffled(items) {
      const rest = [...items]
      return items.map(() => rest.splice(between(0, rest.length - 1), 1)[0]!)
    },
  }
}
