/**
 * Receives DMARC and TLS reports about domains: authenticates the sender, reads the report and stores its data, all
 * while the client waits. The message itself is not kept. Anyone can write a report, so it counts only if its message
 * passes DMARC, as RFC 9990 §4 requires.
 */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { newId } from '../mail/ids.ts'
import type { Authentication, AuthVerdict } from '../mail/inbound.ts'
import { refuse } from '../mail/refusals.ts'
import { getRegistrableDomain } from '../senders/records.ts'
import type { DomainReportLimits, ReportReceivingDomain, Storage } from '../storage/storage.ts'
import { verifyMessage } from '../verification/verification.ts'
import type { Logger } from '../watch/log.ts'
import { createReportReader } from './reading/report-reader.ts'

export interface DomainReportDeps {
  storage: Pick<Storage, 'keepDomainReport'>
  resolver: Pick<Resolver, 'resolve'>
  clock: Clock
  log: Logger
  hostname: string
}

/** A message to the report address of a domain. */
export interface ReportMessage {
  bytes: Uint8Array
  mailFrom: string
  ip: string
  helo: string
}

export interface DomainReports {
  /**
   * Stores a report and returns its id; a report that is already stored keeps its id. Refuses: `report_sender`,
   * `report_unreadable`, `report_foreign`, `report_full`, `report_unknown`, `unavailable`, `overloaded`.
   */
  take(message: ReportMessage, domain: ReportReceivingDomain): Promise<string>
  close(): Promise<void>
}

/** Limits per domain in 24 hours. Google and Microsoft send one report a day; a large sender has some 200 reporters. */
const LIMITS: DomainReportLimits = { submitter: 50, reports: 500, rows: 20_000 }

export function createDomainReports(deps: DomainReportDeps): DomainReports {
  const { storage, clock, log } = deps
  const reader = createReportReader(clock)
  return {
    async take(message, { id: domainId, teamId, name }) {
      const { submitter, later } = judgeSender(await verifyMessage(message, deps))
      if (submitter === null) throw refuse(later ? 'unavailable' : 'report_sender')
      // Copied, because transferring a view to the thread would send the whole underlying buffer.
      const reading = await reader.read({ bytes: new Uint8Array(message.bytes), domain: name }, teamId)
      if (reading.kind === 'problem') {
        log.info({ domain: name, submitter, problem: reading.problem }, 'refused a report about a domain')
        throw refuse(reading.problem === 'foreign' ? 'report_foreign' : 'report_unreadable')
      }
      const now = clock.now()
      const about = { id: newId(now), teamId, domainId, receivedAt: now, submitter }
      const report = { ...about, ...reading.report }
      const kept = await storage.keepDomainReport({ report, limits: LIMITS }, now)
      if (kept === 'full') throw refuse('report_full')
      if (kept === 'unknown') throw refuse('report_unknown')
      log.info(
        { report_id: report.id, domain: name, submitter, kind: report.kind, kept },
        'received a report',
      )
      return report.id
    },
    close: () => reader.close(),
  }
}

/**
 * Returns the authenticated domain that sent a message, or null if there is none. `later` is true if DNS did not answer
 * and the result may change. If the From domain has no DMARC policy, an aligned signature or envelope sender is enough.
 */
function judgeSender({ dmarc, dkim, spf }: Authentication): {
  submitter: string | null
  later: boolean
} {
  const from = dmarc.domain?.toLowerCase() ?? ''
  const aligned = ({ result, domain }: AuthVerdict): boolean =>
    result === 'pass' &&
    domain !== null &&
    getRegistrableDomain(domain.toLowerCase()) === getRegistrableDomain(from)
  const proven = dmarc.result === 'pass' || (dmarc.result === 'none' && (aligned(dkim) || aligned(spf)))
  if (from !== '' && proven) return { submitter: from, later: false }
  const later = [dmarc, dkim, spf].some(({ result }) => result === 'temperror')
  return { submitter: null, later: from !== '' && later }
}
