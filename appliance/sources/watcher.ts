/** Looks after the sources in the background: hourly, and every quarter of an hour while something is wrong with one. */
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
  /** Looks at all sources at once, then goes on. */
  start(): void
  /** Ends at once; a look that is on its way is dropped. */
  stop(): Promise<void>
}

export interface SourceWatcherDeps {
  storage: Pick<Storage, 'saveSource' | 'listTeams' | 'listDomains'>
  book: Pick<SourceBook, 'list'>
  /** Asked at each look: the blocklists can be exchanged. */
  look: () => Omit<SourceCheckDeps, 'returnPaths'>
  clock: Clock
  log: Logger
  /** Dice: a number in [0, 1). */
  random: () => number
  /** How often to see whether other processes added a source, in milliseconds. */
  pollMs: number
  /** Told when a source came into use or went out of it. */
  onChange: () => void
}

const HOUR = 3_600_000
/** How soon a source is looked at again with which something is wrong. */
const SOON = HOUR / 4
/** Looks are spread by this share of the time, so that many machines do not ask a list at once. */
const JITTER = 0.1

/** When to look again. Pure. */
export function nextLook(
  source: Pick<Source, 'suspendedBy'>,
  health: SourceHealth,
  now: number,
  dice: number,
): number {
  const bad = source.suspendedBy === 'check' || health.findings.some(({ status }) => status === 'failed')
  return now + (bad ? SOON : HOUR) * (1 + JITTER * (2 * dice - 1))
}

/** Builds the watcher; it begins with `start()`. */
export function createSourceWatcher(deps: SourceWatcherDeps): SourceWatcher {
  const { storage, book, clock, log, random, pollMs } = deps
  const due = new Map<string, number>()
  let saving: Promise<unknown> = Promise.resolve()

  async function look(source: Source, returnPaths: ReturnPath[], going: () => boolean): Promise<void> {
    const seen = await lookAtSource(source, { ...deps.look(), returnPaths })
    if (!going()) return
    const health = keepKnown(source.health, seen, source.ip)
    const all = await book.list()
    // What happened during the look counts: the pool may be another, the others may be suspended meanwhile.
    const current = all.find(({ ip }) => ip === source.ip)
    if (!current) return
    const others = all.filter(({ ip }) => ip !== source.ip)
    const state = decideState(current, health, others)
    const now = clock.now()
    const change = { ...state, health, checkedAt: now }
    const save = storage.saveSource({ ip: source.ip, change, seen: current }, now)
    saving = save
    if (!(await save)) {
      // An operator was quicker: the next poll looks again.
      due.set(source.ip, now + pollMs)
      return
    }
    due.set(source.ip, nextLook(state, health, now, random()))
    tell(current, { ...current, ...state, health }, log)
    if (state.state !== current.state || health.ipv6 !== (current.health?.ipv6 ?? null)) deps.onChange()
  }

  async function step(going: () => boolean): Promise<boolean> {
    const all = await book.list()
    forgetOthers(due, all)
    const sources = all.filter(({ ip }) => (due.get(ip) ?? 0) <= clock.now())
    if (sources.length === 0) return false
    const domains = await readDomains(storage, { everyTeam: true }, clock.now())
    // One after the other: of two that are listed, the second sees that the first is suspended already.
    for (const source of sources) if (going()) await look(source, returnPathsOf(domains), going)
    return false
  }

  const next = (): Promise<number> => Promise.resolve(Math.min(Infinity, ...due.values()))
  const trouble = 'could not check the sending IPs; will retry'
  // After the end the storage is closed: what rejects then is no trouble.
  const tolerant = (going: () => boolean): Promise<boolean> =>
    step(going).catch((error: unknown) => {
      if (going()) throw error
      return false
    })
  const worker = createWorker({ step: tolerant, next, clock, log, pollMs, trouble })
  return {
    start: () => worker.start(),
    async stop() {
      // Not waited for: a look asks the blocklists for seconds, and what it sees then is not stored.
      void worker.stop()
      await saving.catch(() => undefined) // Its failure was told in the round.
    },
  }
}

/** What is no longer in the book is never due. */
function forgetOthers(due: Map<string, number>, sources: readonly Source[]): void {
  for (const ip of due.keys()) if (!sources.some((one) => one.ip === ip)) due.delete(ip)
}

/** Says in the log what a person on call should know. */
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
