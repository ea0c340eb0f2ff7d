/** The doctor behind an API: many may ask at once, and the world is looked at once. */
import type { Clock } from '../clock/clock.ts'
import type { Finding } from '../mail/finding.ts'
import type { Domain } from '../storage/storage.ts'
import { sortFindings } from './doctor.ts'

/** What was found, and when (Unix milliseconds). */
export interface Report {
  at: number
  findings: Finding[]
}

/** A report that may still grow. */
export interface Progress extends Report {
  complete: boolean
}

export interface SharedDoctor {
  /** Looks at everything, or at one domain. */
  examine(domain?: Domain): Promise<Report>
  /** The same without waiting: what is found so far. The first call begins the look. Rejects when the last look could not be made. */
  watch(domain?: Domain): Promise<Progress>
  /**
   * What the last complete look at everything found, null before the first. Where that is a quarter of an hour ago, another look begins,
   * and is not waited for.
   */
  latest(): Report | null
}

/** How long a report is given out again, in milliseconds: a look dials a dozen hosts, and asking must not become a flood. */
const KEPT = 10_000

/** How old a report may be that is given out as the latest, in milliseconds; also the pause after a look that could not be made. */
const RECENT = 15 * 60_000

/** Makes a look; `tell` takes what is found on the way. */
export type Examine = (domain: Domain | undefined, tell: (findings: Finding[]) => void) => Promise<Finding[]>

interface Look {
  /** When it was complete, Unix milliseconds; null while it runs. */
  ended: number | null
  soFar: Finding[]
  report: Promise<Report>
}

/** Shares looks that run, and gives out a fresh report for a moment. */
export function createSharedDoctor(clock: Clock, examine: Examine): SharedDoctor {
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
      // Why it could not be made is said to those who wait for it.
      if (!recent) lookAt(undefined).report.catch(() => undefined)
      return last
    },
    async watch(domain) {
      const look = lookAt(domain)
      if (look.ended !== null) return { ...(await look.report), complete: true }
      // A look that failed at once is told at once; the next call begins another.
      const now = clock.now()
      const running = { at: now, findings: sortFindings(look.soFar), complete: false }
      return Promise.race([look.report.then((report) => ({ ...report, complete: true })), later(running)])
    },
  }
}

/** After the callbacks that wait already. */
const later = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(resolve, value))
