/** Daily columns of DMARC or TLS reports. Pure. */
import type { DmarcSummary } from '../../../appliance/api/report-summaries.ts'
import { parseInstant } from './time.ts'
import { formatPeriod } from './usage.ts'

const DAY = 86_400_000

/** The reports of one UTC day. */
export interface ReportDay {
  /** `2026-11-25` */
  date: string
  passed: number
  failed: number
}

/** Returns all days of a period, oldest first. Days without a report have zero counts. */
export function listReportDays({
  since,
  until,
  days,
}: Pick<DmarcSummary, 'since' | 'until' | 'days'>): ReportDay[] {
  const known = new Map(days.map((day) => [day.date, day]))
  const [first, last] = [since, until].map((at) => Math.floor(parseInstant(at) / DAY)) as [number, number]
  return Array.from({ length: last - first + 1 }, (_, n) => {
    const date = new Date((first + n) * DAY).toISOString().slice(0, 10)
    const { total, failed } = known.get(date) ?? { total: 0, failed: 0 }
    return { date, passed: total - failed, failed }
  })
}

/** Describes a day: `Nov 25: 1,240 passed, 100 failed`. */
export function describeDay({ date, passed, failed }: ReportDay): string {
  const [good, bad] = [passed, failed].map((count) => count.toLocaleString('en'))
  return passed + failed === 0
    ? `${formatPeriod(date)}: no reports`
    : `${formatPeriod(date)}: ${good} passed, ${bad} failed`
}
