/** The worker thread that parses large messages; started by mime.ts. */
import { answerJobs } from '../capacity/answer-jobs.ts'
import type { ReadJob, ReadResult } from './mime.ts'
import { readComposed } from './read-composed.ts'
import { readAttachment, readMessage } from './read.ts'

answerJobs<ReadJob, ReadResult>((job) => {
  if (job.kind === 'attachment') return readAttachment(job.message, job.which)
  return job.kind === 'composed' ? readComposed(job.message) : readMessage(job.message)
})
