/** Checks the sources in the background: hourly, and every 15 minutes while one has a problem. */
import type { Clock } from '../clock/clock.ts'
import { OTHER_TEAMS, type Finding } from '../mail/finding.ts'
import type { Source, SourceHealth } from '../mail/source.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker } from '../watch/worker.ts'
import { readDomains, returnPathsOf, type ReturnPath } from './return-paths.ts'
import { decideState, keepKnown, lookAtSource, type SourceCheckDeps } from './check.ts'
import type { SourceBook } from './book.ts'

export interface SourceWatcher {
  /** Checks all sources at once, then periodically. */
  start(): void
  /** Stops at once; drops the result of a running check. */
  stop(): Promise<void>
}

export interface SourceWatcherDeps {
  storage: Pick<Storage, 'saveSource' | 'listTeams' | 'listDomains'>
  book: Pick<SourceBook, 'list' | 'own'>
  /** Called for each check, because the blocklists can be replaced. */
  look: () => Omit<SourceCheckDeps, 'returnPaths'>
  clock: Clock
  log: Logger
  /** Returns a random number in [0, 1). */
  random: () => number
  /** How often to check whether other processes added a source, in milliseconds. */
  pollMs: number
  /** Called when a source was suspended or put back into use. */
  onChange: () => void
}

const HOUR = 3_600_000
/** How soon a source with a problem is checked again. */
const SOON = HOUR / 4
/** Random share of the interval, so that many servers don't query a list at the same time. */
const JITTER = 0.1

/** Decides when to check again. Pure. */
export function nextLook(
  source: Pick<Source, 'suspendedBy'>,
  health: SourceHealth,
  now: number,
  dice: number,
): number {
  const bad = source.suspendedBy === 'check' || health.findings.some(({ status }) => status === 'failed')
  return now + (bad ? SOON : HOUR) * (1 + JITTER * (2 * dice - 1))
}

/** Creates the watcher; it begins with `start()`. */
export function createSourceWatcher(deps: SourceWatcherDeps): SourceWatcher {
  const { storage, book, clock, log, random, pollMs } = deps
  const due = new Map<string, number>()
  let saving: Promise<unknown> = Promise.resolve()

  async function look(source: Source, returnPaths: ReturnPath[], going: () => boolean): Promise<void> {
    const seen = await lookAtSource(source, { ...deps.look(), returnPaths })
    if (!going()) return
    const health = keepKnown(source.health, seen, source.ip)
    const all = await book.list()
    // Use the current state: the pool or the other sources may have changed during the check.
    const current = all.find(({ ip }) => ip === source.ip)
    if (!current) return
    const others = all.filter(({ ip }) => ip !== source.ip)
    const state = decideState(current, health, others)
    const now = clock.now()
    const change = { ...state, health, checkedAt: now }
    const save = storage.saveSource({ ip: source.ip, change, seen: current }, now)
    saving = save
    if (!(await save)) {
      // An operator changed it first; the next poll checks again.
      due.set(source.ip, now + pollMs)
      return
    }
    due.set(source.ip, nextLook(state, health, now, random()))
    tell(current, { ...current, ...state, health }, log)
    if (state.state !== current.state || health.ipv6 !== (current.health?.ipv6 ?? null)) deps.onChange()
  }

  async function step(going: () => boolean): Promise<boolean> {
    // Only their own machine can check sources.
    const own = await book.own()
    forgetOthers(due, own)
    const sources = own.filter(({ ip }) => (due.get(ip) ?? 0) <= clock.now())
    if (sources.length === 0) return false
    const domains = await readDomains(storage, { everyTeam: true }, clock.now())
    // One after the other, so that of two listed sources, the second sees that the first is suspended.
    for (const source of sources) if (going()) await look(source, returnPathsOf(domains), going)
    return false
  }

  const next = (): Promise<number> => Promise.resolve(Math.min(Infinity, ...due.values()))
  const trouble = 'could not check the sending IPs; will retry'
  // Storage is closed after a stop, so a rejection then is no problem.
  const tolerant = (going: () => boolean): Promise<boolean> =>
    step(going).catch((error: unknown) => {
      if (going()) throw error
      return false
    })
  const worker = createWorker({ step: tolerant, next, clock, log, pollMs, trouble })
  return {
    start: () => worker.start(),
    async stop() {
      // Not awaited: a check queries blocklists for seconds, and its result would not be stored.
      void worker.stop()
      await saving.catch(() => undefined) // Its failure was logged in its own run.
    },
  }
}

/** Drops sources that are no longer in the registry. */
function forgetOthers(due: Map<string, number>, sources: readonly Source[]): void {
  for (const ip of due.keys()) if (!sources.some((one) => one.ip === ip)) due.delete(ip)
}

/** Logs what a person on call should know. */
function tell(before: Source, after: Source, log: Logger): void {
  const about = { source: after.ip, pool: after.pool }
  if (after.state !== before.state) {
    if (after.state === 'active') log.info(about, 'sending IP is in use again')
    else log.warn({ ...about, reason: after.stateReason }, 'sending IP is suspended; no mail is sent from it')
  }
  const worth = ({ id, status }: Finding): boolean =>
    status === 'failed' || (status === 'warning' && id.startsWith(OTHER_TEAMS))
  const known = new Set((before.health?.findings ?? []).filter(worth).map(({ id }) => id))
  for (const finding of (after.health?.findings ?? []).filter(worth)) {
    const { id, found, advice } = finding
    if (!known.has(id)) log.warn({ ...about, check: id, found, advice }, 'sending IP failed a check')
  }
}
