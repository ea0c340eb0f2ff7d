/** The thread that reads DMARC and TLS reports. Started by report-reader.ts. */
import { answerJobs } from '../../capacity/answer-jobs.ts'
import { readDomainReport, type DomainReportReading } from './domain-report.ts'
import type { ReportJob } from './report-reader.ts'

answerJobs<ReportJob, DomainReportReading>(({ bytes, domain }) => readDomainReport(bytes, domain))
