/** Shares the doctor's checks between API clients: concurrent requests cause only one run. */
import type { Clock } from '../clock/clock.ts'
import type { Finding } from '../mail/finding.ts'
import type { Domain } from '../storage/storage.ts'
import { sortFindings } from './doctor.ts'

/** Findings, and the time when they were complete (Unix milliseconds). */
export interface Report {
  at: number
  findings: Finding[]
}

/** A report that may be incomplete. */
export interface PartialReport extends Report {
  complete: boolean
}

export interface SharedDoctor {
  /** Runs all checks, or those of one domain. */
  examine(domain?: Domain): Promise<Report>
  /**
   * Returns the findings so far without waiting. Starts a run if none is in progress or recent. Rejects if the last run
   * failed.
   */
  watch(domain?: Domain): Promise<PartialReport>
  /**
   * Returns the last complete report of all checks, or null. If it is older than a quarter of an hour, starts another
   * run in the background.
   */
  latest(): Report | null
}

/**
 * How long a report is reused, in milliseconds. Each run dials a dozen hosts, so frequent requests must not cause
 * frequent runs.
 */
const KEPT = 10_000

/** Maximum age of the latest report, in milliseconds; also the pause after a failed run. */
const RECENT = 15 * 60_000

/** Runs the checks; `tell` receives findings as soon as they are known. */
export type RunChecks = (
  domain: Domain | undefined,
  tell: (findings: Finding[]) => void,
) => Promise<Finding[]>

interface Look {
  /** When the run was complete (Unix milliseconds); null while it is running. */
  ended: number | null
  soFar: Finding[]
  report: Promise<Report>
}

/** Shares concurrent runs, and reuses recent reports. */
export function createSharedDoctor(clock: Clock, examine: RunChecks): SharedDoctor {
  const looks = new Map<string, Look>()
  let last: Report | null = null
  let begunAt: number | null = null
  const lookAt = (domain: Domain | undefined): Look => {
    const now = clock.now()
    const key = domain?.id ?? ''
    const isOver = ({ ended }: Look) => ended !== null && (now - ended >= KEPT || now < ended)
    for (const [one, known] of looks) if (isOver(known)) looks.delete(one)
    const known = looks.get(key)
    if (known) return known
    if (domain === undefined) begunAt = now
    const look: Look = { ended: null, soFar: [], report: Promise.resolve({ at: now, findings: [] }) }
    look.report = examine(domain, (findings) => look.soFar.push(...findings)).then((findings) => {
      look.ended = clock.now()
      const report = { at: look.ended, findings }
      if (domain === undefined) last = report
      return report
    })
    looks.set(key, look)
    look.report.catch(() => looks.delete(key))
    return look
  }
  return {
    examine: (domain) => lookAt(domain).report,
    latest() {
      const now = clock.now()
      const recent = begunAt !== null && now >= begunAt && now - begunAt < RECENT
      // Callers that wait for the run handle the error.
      if (!recent) lookAt(undefined).report.catch(() => undefined)
      return last
    },
    async watch(domain) {
      const look = lookAt(domain)
      if (look.ended !== null) return { ...(await look.report), complete: true }
      // If the run fails at once, this rejects at once; the next call starts another run.
      const now = clock.now()
      const running = { at: now, findings: sortFindings(look.soFar), complete: false }
      return Promise.race([look.report.then((report) => ({ ...report, complete: true })), later(running)])
    },
  }
}

/** Resolves after callbacks that are already queued. */
const later = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(resolve, value))
