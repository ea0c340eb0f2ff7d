/**
 * Reads reports about domains in a thread with bounded memory and time, because a small file may unpack to a large one.
 */
import { createThreads, ThreadEndedError } from '../../capacity/capacity.ts'
import type { Clock } from '../../clock/clock.ts'
import type { DomainReportParseResult } from './domain-report.ts'

/** A job for the thread. */
export interface ReportJob {
  bytes: Uint8Array
  domain: string
}

export interface ReportReader {
  /**
   * Reads a message with a report about the domain. Refuses: `overloaded`, `shutting_down`.
   *
   * @param teamId the team of the domain: teams take turns
   */
  read(job: ReportJob, teamId: string): Promise<DomainReportParseResult>
  close(): Promise<void>
}

/** Heap of the thread in MB, not counting buffers. 50 MB of XML become one string of the same size. */
const HEAP_MB = 256
const DEADLINE_MS = 20_000

export function createReportReader(clock: Clock): ReportReader {
  const threads = createThreads<ReportJob, DomainReportParseResult>({
    script: new URL('report-worker.ts', import.meta.url),
    clock,
    most: 1,
    waiting: 8,
    deadlineMs: DEADLINE_MS,
    heapMb: HEAP_MB,
  })
  return {
    async read(job, teamId) {
      try {
        return await threads.run(job, teamId)
      } catch (error) {
        if (error instanceof ThreadEndedError) return { kind: 'problem', problem: 'too-large' }
        throw error
      }
    },
    close: () => threads.close(),
  }
}
