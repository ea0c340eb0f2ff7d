/** Checks the sending IPs in the background: hourly, and every 15 minutes while one has a problem. */
import type { Clock } from '../clock/clock.ts'
import { OTHER_TEAMS, type Finding } from '../mail/finding.ts'
import type { Source, SourceHealth } from '../mail/source.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker } from '../watch/worker.ts'
import { listTeamDomains, listReturnPaths, type ReturnPath } from './return-paths.ts'
import { decideState, mergeHealth, checkSource, type SourceCheckDeps } from './check.ts'
import type { SourceRegistry } from './registry.ts'

export interface SourceWatcher {
  /** Checks all sending IPs immediately, then periodically. */
  start(): void
  /** Stops immediately. Drops the result of a running check. */
  stop(): Promise<void>
}

export interface SourceWatcherDeps {
  storage: Pick<Storage, 'saveSource' | 'listTeams' | 'listDomains'>
  book: Pick<SourceRegistry, 'list' | 'own'>
  /** Returns the dependencies of a check. Called for each check, because the blocklists can be replaced. */
  look: () => Omit<SourceCheckDeps, 'returnPaths'>
  clock: Clock
  log: Logger
  /** Returns a random number in [0, 1). */
  random: () => number
  /** How often to check whether other processes added a sending IP, in milliseconds. */
  pollMs: number
  /** Called when a sending IP was suspended or put back into use, or its use of IPv6 has changed. */
  onChange: () => void
}

const HOUR = 3_600_000
/** Time after which a sending IP with a problem is checked again, in milliseconds. */
const SOON = HOUR / 4
/**
 * Maximum random deviation from the interval, as a share of it, so that many servers don't query a list at the same
 * time.
 */
const JITTER = 0.1

/** Returns when to check a sending IP again. Pure. */
export function computeNextCheck(
  source: Pick<Source, 'suspendedBy'>,
  health: SourceHealth,
  now: number,
  dice: number,
): number {
  const bad = source.suspendedBy === 'check' || health.findings.some(({ status }) => status === 'failed')
  return now + (bad ? SOON : HOUR) * (1 + JITTER * (2 * dice - 1))
}

/** Creates the watcher, which `start()` starts. */
export function createSourceWatcher(deps: SourceWatcherDeps): SourceWatcher {
  const { storage, book, clock, log, random, pollMs } = deps
  const due = new Map<string, number>()
  let saving: Promise<unknown> = Promise.resolve()

  async function look(source: Source, returnPaths: ReturnPath[], going: () => boolean): Promise<void> {
    const seen = await checkSource(source, { ...deps.look(), returnPaths })
    if (!going()) return
    const health = mergeHealth(source.health, seen, source.ip)
    const all = await book.list()
    // Use the current state, because the pool or the other sending IPs may have changed during the check.
    const current = all.find(({ ip }) => ip === source.ip)
    if (!current) return
    const others = all.filter(({ ip }) => ip !== source.ip)
    const state = decideState(current, health, others)
    const now = clock.now()
    const change = { ...state, health, checkedAt: now }
    const save = storage.saveSource({ ip: source.ip, change, seen: current }, now)
    saving = save
    if (!(await save)) {
      // An operator changed the sending IP first. The next poll checks it again.
      due.set(source.ip, now + pollMs)
      return
    }
    due.set(source.ip, computeNextCheck(state, health, now, random()))
    tell(current, { ...current, ...state, health }, log)
    if (state.state !== current.state || health.ipv6 !== (current.health?.ipv6 ?? null)) deps.onChange()
  }

  async function step(going: () => boolean): Promise<boolean> {
    // A sending IP can only be checked by its own node.
    const own = await book.own()
    forgetOthers(due, own)
    const sources = own.filter(({ ip }) => (due.get(ip) ?? 0) <= clock.now())
    if (sources.length === 0) return false
    const domains = await listTeamDomains(storage, { everyTeam: true }, clock.now())
    // Check them one after the other, so that if two are listed, the check of the second sees that the first is
    // suspended.
    for (const source of sources) if (going()) await look(source, listReturnPaths(domains), going)
    return false
  }

  const next = (): Promise<number> => Promise.resolve(Math.min(Infinity, ...due.values()))
  const trouble = 'could not check the sending IPs; will retry'
  // The storage is closed after a stop, so a rejection is no problem then.
  const tolerant = (going: () => boolean): Promise<boolean> =>
    step(going).catch((error: unknown) => {
      if (going()) throw error
      return false
    })
  const worker = createWorker({ step: tolerant, next, clock, log, pollMs, trouble })
  return {
    start: () => worker.start(),
    async stop() {
      // Don't wait for it, because a check queries blocklists for seconds, and its result wouldn't be stored.
      void worker.stop()
      await saving.catch(() => undefined) // Its failure was logged in its own run.
    },
  }
}

/** Drops sending IPs that are no longer in the registry. */
function forgetOthers(due: Map<string, number>, sources: readonly Source[]): void {
  for (const ip of due.keys()) if (!sources.some((one) => one.ip === ip)) due.delete(ip)
}

/** Logs changes that an operator should know about. */
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
