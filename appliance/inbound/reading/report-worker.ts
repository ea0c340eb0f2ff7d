/** The thread that reads DMARC and TLS reports. Started by report-reader.ts. */
import { processJobs } from '../../capacity/run-jobs.ts'
import { parseDomainReport, type DomainReportParseResult } from './domain-report.ts'
import type { ReportJob } from './report-reader.ts'

processJobs<ReportJob, DomainReportParseResult>(({ bytes, domain }) => parseDomainReport(bytes, domain))
