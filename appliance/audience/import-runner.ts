/** Runs imports in the background, one at a time. Teams take turns, and mail has priority. */
import { setImmediate, setTimeout as rest } from 'node:timers/promises'
import { type Clock, getSteadyTime } from '../clock/clock.ts'
import { refuse, Refusal } from '../mail/refusals.ts'
import type { ContactImport, ImportBatch, Storage } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { CsvFile } from './csv-file.ts'
import type { ImportFiles } from './import-files.ts'
import { parseRows } from './import-rows.ts'
import { SeenAddresses } from './seen.ts'

/** Number of rows per transaction. */
export const ROWS_PER_TRANSACTION = 1000
/** Maximum number of rows of a file. */
const MAX_ROWS = 5_000_000
/** How long a team's import runs while another team waits, in milliseconds. */
const TURN_MS = 30_000
/**
 * Number of other writes per second at which an import pauses for as long as its last batch took. The pause grows in
 * proportion to the writes.
 */
const BUSY = 20
/** Maximum pause: as a multiple of the time for the last batch, and in milliseconds. */
const MOST_PAUSES = 19
const MOST_PAUSE_MS = 1000
/** Interval over which other writes are counted before the pause changes, in milliseconds. */
const WINDOW_MS = 250
/** Default of `pollMs`. */
const POLL_MS = 5000
/** How long drafts and lists of rejected rows are kept, in milliseconds. */
export const DRAFT_RETENTION_MS = 24 * 3_600_000
const REJECTS_MS = 7 * 24 * 3_600_000
const SWEEP_MS = 3_600_000

export interface ImportRunnerDeps {
  storage: Storage
  files: ImportFiles
  clock: Clock
  log: Logger
  duties?: Duties | undefined
  /** Whether to import only the files in this node's data directory, because other nodes import the rest. */
  hereOnly?: boolean | undefined
  /** How often to look for imports queued by other processes, in milliseconds. Default and minimum: 5000. */
  pollMs?: number | undefined
  /** Returns the number of calls that the storage thread has answered, to detect other writes. */
  calls: () => number
}

export function createImportRunner(deps: ImportRunnerDeps): Worker {
  const { storage, files, clock, log, pollMs = POLL_MS } = deps
  const onDuty = createDutyCheck(deps.duties, 'contact imports')
  let swept = Number.NEGATIVE_INFINITY
  const sweep = async (): Promise<void> => {
    const now = clock.now()
    if (now - swept < SWEEP_MS) return
    const before = { drafts: now - DRAFT_RETENTION_MS, rejects: now - REJECTS_MS }
    while (await storage.sweepContactImports(before, now));
    await files.removeOthers(await storage.openContactImports({}, now))
    swept = now
  }
  const step = async (going: () => boolean): Promise<boolean> => {
    if (!(await onDuty())) return false
    await sweep()
    const among = deps.hereOnly ? await files.ids() : undefined
    const next = await storage.nextContactImport({ among }, clock.now())
    if (!next) return false
    if (!(await files.hasRoom())) {
      log.error({ import: next.id }, 'an import waits: there is too little free disk space')
      return false
    }
    await runTurn(deps, next, going)
    return going()
  }
  const trouble = 'importing contacts failed; will continue in a few seconds'
  return createWorker({ step, clock, log, pollMs: Math.max(POLL_MS, pollMs), trouble })
}

/** Writes rows until the end of the file or of the turn, or until the process must stop. */
async function runTurn(deps: ImportRunnerDeps, job: ContactImport, going: () => boolean): Promise<void> {
  const { storage, files, clock, log } = deps
  let error: string | null = null
  try {
    if (!(await writeRows(deps, job, going))) return void (await storage.endImportTurn(job, clock.now()))
  } catch (thrown) {
    error = reasonOf(thrown)
  }
  await storage.finishContactImport({ id: job.id, error }, clock.now())
  await storage.endImportTurn(job, clock.now())
  await files.remove(job.id)
  log.info({ import: job.id, team: job.teamId, error }, 'an import of contacts ended')
}

/** Returns why a file couldn't be read to its end. Rethrows errors that the file didn't cause. */
function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  if ((error as NodeJS.ErrnoException).code === 'ENOENT')
    return 'The file is no longer there. Upload it again: rows that were already imported are not imported twice.'
  throw error
}

/** Writes rows. Returns true at the end of the file, false if the turn is over. */
async function writeRows(deps: ImportRunnerDeps, job: ContactImport, going: () => boolean): Promise<boolean> {
  const { storage, files, clock } = deps
  const plan = job.plan!
  const path = files.pathOf(job.id)
  const seen = await seenBefore(path, job)
  const file = await CsvFile.open(path, { offset: job.processed, line: job.line, separator: job.separator })
  const begun = getSteadyTime(clock)
  const pace = createPacing(deps.calls)
  const read = async (): Promise<Omit<ImportBatch, 'from'> | undefined> => {
    const { records, end, line } = await file.next(ROWS_PER_TRANSACTION)
    if (records.length === 0) return undefined
    const rows = parseRows(records, plan, seen)
    checkRowCount(seen, line)
    return { id: job.id, teamId: job.teamId, to: end, line, ...rows }
  }
  try {
    let next = await read()
    for (let from = job.processed; next && going();) {
      const write = { ...next, from }
      // The storage thread writes these rows while this thread reads the next ones.
      const written = pace(() => storage.writeImportRows(write, clock.now()))
      const [result, ahead] = await Promise.allSettled([written, read()])
      if (valueOf(result) === 'elsewhere') return false
      from = write.to
      next = valueOf(ahead)
      if (getSteadyTime(clock) - begun > TURN_MS && (await storage.otherImportsWait(job, clock.now())))
        return false
    }
    return next === undefined
  } finally {
    await file.close()
  }
}

/** Returns the value of a settled promise, or throws its error. */
function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

/** Checks the number of rows. Refuses: `import_unreadable`. */
export function checkRowCount(seen: SeenAddresses, line: number): void {
  if (seen.size > MAX_ROWS)
    throw refuse('import_unreadable', {
      line,
      problem: `there are more than ${MAX_ROWS} addresses; split the file`,
    })
}

/** Collects the addresses of rows that were already written. */
async function seenBefore(
  path: string,
  { plan, processed, separator }: ContactImport,
): Promise<SeenAddresses> {
  const seen = new SeenAddresses()
  const file = await CsvFile.open(path, { offset: 0, line: 1, separator, until: processed })
  try {
    let { records } = await file.next(1)
    while (records.length > 0) {
      ;({ records } = await file.next(ROWS_PER_TRANSACTION))
      parseRows(records, plan!, seen)
      await setImmediate()
    }
    return seen
  } finally {
    await file.close()
  }
}

/** Creates a function that writes a batch, then pauses. The pause grows with the number of other writes. */
function createPacing(calls: () => number): <T>(write: () => Promise<T>) => Promise<T> {
  let since = performance.now()
  let before = calls()
  let own = 0
  let pauses = 0
  return async (write) => {
    const start = performance.now()
    const result = await write()
    own++
    const now = performance.now()
    // A batch takes some 20 ms, which is too short to measure the rate of writes.
    if (now - since >= WINDOW_MS) {
      const others = ((calls() - before - own) * 1000) / (now - since)
      pauses = others < BUSY ? 0 : Math.min(MOST_PAUSES, others / BUSY)
      since = now
      before = calls()
      own = 0
    }
    if (pauses > 0) await rest(Math.min(MOST_PAUSE_MS, pauses * (now - start)))
    else await setImmediate()
    return result
  }
}
