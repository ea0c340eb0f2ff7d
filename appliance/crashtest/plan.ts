/** Plans the kills. A pure function of their number and the seed. */
import { CRASH_POINTS, type CrashPoint } from '../watch/crash-points.ts'

/** A planned kill. */
export type PlannedKill =
  /** A kill from outside, this many milliseconds after the process was started or ready. */
  | { kind: 'random'; since: 'spawn' | 'ready'; afterMs: number }
  /** The daemon kills itself when it passes a crash point for the count-th time. */
  | { kind: 'point'; point: CrashPoint; count: number }
  /**
   * First, the database server is killed from outside, this many milliseconds after the daemon was ready. It is started
   * again, and the daemon is killed `afterMs` later.
   */
  | { kind: 'server'; sinceMs: number; downMs: number; afterMs: number }
  /** A kill from outside, while a clean stop writes the log into the database. */
  | { kind: 'checkpoint-midway' }

/** Returns the name of a kill for the report's table. */
export function formatKillName(kill: PlannedKill): string {
  if (kill.kind === 'server') return 'database server, then daemon'
  if (kill.kind !== 'random') return kill.kind === 'point' ? kill.point : kill.kind
  return kill.since === 'spawn' ? 'random, during start' : 'random'
}

export type StorageEngine = 'sqlite' | 'postgres'

/** Maximum number of passes of a point before the kill. Points that are rarely passed need a low number. */
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
  'receive-before-commit': 10,
  'receive-after-commit': 10,
  'bounce-before-commit': 2,
  'bounce-after-commit': 2,
  'expand-before-commit': 1,
  'expand-after-commit': 1,
  'enqueue-before-commit': 1,
  'enqueue-after-commit': 1,
  webhook: 20,
  retention: 1,
  migration: 2,
  'storage-move': 1,
  checkpoint: 1,
}

const UNREACHED = {
  broadcast: 'This test sends no broadcast.',
  move: 'This test moves nothing to another database.',
}

/** Crash points that this test can't reach, with the reason. */
export const UNREACHABLE_POINTS: Record<string, string> = Object.fromEntries(
  Object.entries(CRASH_POINTS).flatMap(([name, { reach }]) =>
    reach === 'broadcast' || reach === 'move' ? [[name, UNREACHED[reach]]] : [],
  ),
)

/** Crash points that a daemon on PostgreSQL doesn't pass, with the reason. */
const NOT_ON_POSTGRES: Record<string, string> = {
  'message-file': 'Messages are rows in PostgreSQL.',
  migration: 'Only SQLite has it.',
  checkpoint: 'Only SQLite has it.',
}

/** Returns the crash points that this test doesn't reach with an engine, with the reason. */
export const listUnreachablePoints = (engine: StorageEngine): Record<string, string> =>
  engine === 'postgres' ? { ...UNREACHABLE_POINTS, ...NOT_ON_POSTGRES } : UNREACHABLE_POINTS

/** The points that this test reaches. */
const REACHED = (Object.keys(CRASH_POINTS) as CrashPoint[]).filter((point) => !(point in UNREACHABLE_POINTS))

/** Whether a point can be passed again. Migration points can't, because only a new database is migrated. */
const isRepeatable = (point: CrashPoint): boolean => CRASH_POINTS[point].reach !== 'start'

/**
 * Plans the kills in order: first a migration of the new database, then every other crash point once, then random times
 * (about half), crash points, and times during startup.
 */
export function planKills(kills: number, dice: RandomGenerator): PlannedKill[] {
  const repeatable = REACHED.filter(isRepeatable)
  const at = (point: CrashPoint): PlannedKill => pointOf(point, dice)
  const once: PlannedKill[] = [
    ...REACHED.filter((point) => !isRepeatable(point)).map(at),
    ...dice.shuffled([
      ...repeatable.filter((point) => point !== 'retention').map(at),
      { kind: 'checkpoint-midway' } as const,
    ]),
    // A start removes mail that was already complete, so this kill must come after some mail was completed.
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

/**
 * Plans the kills on PostgreSQL: every crash point and the server once, then the server, crash points and random times.
 * @param ownServer whether the test may kill the server
 */
export function planPostgresKills(
  kills: number,
  dice: RandomGenerator,
  { ownServer }: { ownServer: boolean },
): PlannedKill[] {
  const points = REACHED.filter((point) => !(point in NOT_ON_POSTGRES) && point !== 'retention')
  const server = (): PlannedKill => ({
    kind: 'server',
    sinceMs: dice.between(50, 1500),
    downMs: dice.between(0, 1500),
    afterMs: dice.between(500, 4000),
  })
  const once = [
    ...dice.shuffled([...points.map((point) => pointOf(point, dice)), ...(ownServer ? [server()] : [])]),
    pointOf('retention', dice),
  ]
  const further = (): PlannedKill => {
    const draw = dice.next()
    if (draw < 0.35) return pointOf(points[dice.between(0, points.length - 1)]!, dice)
    if (draw < 0.7 && ownServer) return server()
    if (draw < 0.75) return { kind: 'random', since: 'spawn', afterMs: dice.between(0, 900) }
    return { kind: 'random', since: 'ready', afterMs: dice.between(5, 600) }
  }
  const rest = Array.from({ length: Math.max(0, kills - once.length) }, further)
  return [...once.slice(0, kills), ...rest]
}

const pointOf = (point: CrashPoint, dice: RandomGenerator): PlannedKill => ({
  kind: 'point',
  point,
  count: dice.between(1, MOST_PASSES[point]),
})

/** A pseudorandom generator: the same seed gives the same numbers, so that a run can be repeated. */
export interface RandomGenerator {
  /** A number in [0, 1). */
  next(): number
  /** An integer from `low` to `high`, inclusive. */
  between(low: number, high: number): number
  /** Returns the items in random order. */
  shuffled<T>(items: readonly T[]): T[]
}

/** Creates a 32-bit generator: adds an odd constant, then mixes the bits by multiplications and shifts. */
export function createRandomGenerator(seed: number): RandomGenerator {
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
