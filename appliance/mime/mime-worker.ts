/** The worker thread that parses large messages; started by mime.ts. */
import { processJobs } from '../capacity/run-jobs.ts'
import type { ReadJob, ReadResult } from './mime.ts'
import { readComposedMessage } from './read-composed.ts'
import { extractAttachment, readMessage } from './read.ts'

processJobs<ReadJob, ReadResult>((job) => {
  if (job.kind === 'attachment') return extractAttachment(job.message, job.which)
  return job.kind === 'composed' ? readComposedMessage(job.message) : readMessage(job.message)
})
