/** Erases a person's data by email address: in the background, step by step, and resumed after a restart. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox } from '../mail/address.ts'
import type { Actor } from '../mail/audit.ts'
import { createErasureCounts, type ErasureCounts, type ErasureKind } from '../mail/erasure.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Erasure, ErasurePreview, Page, PageArgs, Storage, StorageSubset } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import { createSilentLogger, type Logger } from '../watch/log.ts'
import { createWorker } from '../watch/worker.ts'

export interface Erasures {
  /**
   * Starts an erasure, which runs in the background once `start` has been called.
   * Refuses: `invalid_address`.
   */
  begin(args: { teamId: string; address: string; actor: Actor }): Promise<Erasure>
  /**
   * Runs all steps of a started erasure.
   * Refuses: `not_found`.
   */
  run(args: { teamId: string; id: string }): Promise<Erasure>
  /**
   * Counts what an erasure would change, without changing anything.
   * Refuses: `invalid_address`.
   */
  survey(args: { teamId: string; address: string }): Promise<ErasureCounts>
  /**
   * Returns an erasure.
   * Refuses: `not_found`.
   */
  get(args: { teamId: string; id: string }): Promise<Erasure>
  list(args: PageArgs): Promise<Page<Erasure>>
  /** Resumes unfinished erasures, including those that other processes started. For the daemon only. */
  start(): void
  /** Stops after the current step. */
  stop(): Promise<void>
}

export interface ErasuresDeps {
  storage: StorageSubset<'erasures'> & Pick<Storage, 'eraseStep' | 'surveyErasure'>
  clock: Clock
  log?: Logger
  /** Decides which node runs erasures. Default: this process is the only one. */
  duties?: Duties | undefined
  /** How often to look for erasures left by other processes, in milliseconds. */
  pollMs?: number
}

const DEFAULT_POLL_MS = 60_000

/** Normalizes an address: domain in A-labels, local part unchanged. */
function readAddress(text: string): string {
  const address = parseMailbox(text)?.address
  if (address === undefined) throw refuse('invalid_address', { field: 'address' })
  return address
}

export function createErasures(deps: ErasuresDeps): Erasures {
  const { storage, clock } = deps
  const worker = createErasureWorker(deps)
  const get: Erasures['get'] = async (args) => {
    const found = await storage.getErasure(args, clock.now())
    if (!found) throw refuse('not_found', { resource: 'Erasure' })
    return found
  }
  return {
    async begin({ teamId, address, actor }) {
      const now = clock.now()
      const args = { id: newId(now), teamId, address: readAddress(address), actor }
      const erasure = await storage.beginErasure(args, now)
      worker.wake()
      return erasure
    },
    async run(args) {
      const { id } = await get(args)
      for (;;) {
        const erasure = await storage.eraseStep({ id }, clock.now())
        if (!erasure) throw refuse('not_found', { resource: 'Erasure' })
        if (erasure.finishedAt !== null) return erasure
      }
    },
    async survey({ teamId, address }) {
      const about = { teamId, address: readAddress(address) }
      const counts = createErasureCounts()
      for (let from: ErasurePreview['next'] | undefined; from !== null;) {
        const step: ErasurePreview = await storage.surveyErasure({ ...about, from }, clock.now())
        for (const kind of Object.keys(counts) as ErasureKind[]) counts[kind] += step.counts[kind]
        from = step.next
      }
      return counts
    },
    get,
    list: (args) => storage.listErasures(args, clock.now()),
    start: () => worker.start(),
    stop: () => worker.stop(),
  }
}

/** Runs erasures one at a time, step by step, so that other work runs between steps. */
function createErasureWorker({
  storage,
  clock,
  log = createSilentLogger(),
  duties,
  pollMs = DEFAULT_POLL_MS,
}: ErasuresDeps) {
  const finish = async (id: string, going: () => boolean): Promise<void> => {
    while (going()) {
      const erasure = await storage.eraseStep({ id }, clock.now())
      if (erasure?.finishedAt === null) continue
      if (erasure) log.info({ erasure: id, ...erasure.counts }, "erased a person's data")
      return
    }
  }
  const onDuty = createDutyCheck(duties, 'erasures')
  const step = async (going: () => boolean): Promise<boolean> => {
    const unfinished = await storage.unfinishedErasures({}, clock.now())
    for (const id of unfinished) if (await onDuty()) await finish(id, going)
    return false
  }
  const trouble = "erasing a person's data failed; will continue in a minute"
  return createWorker({ step, clock, log, pollMs, trouble })
}
