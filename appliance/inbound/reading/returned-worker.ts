/** The thread that reads large returned messages. Started by returned-reader.ts. */
import { answerJobs } from '../../capacity/answer-jobs.ts'
import { createClassifier } from '../../mail/classify.ts'
import type { Returned } from '../../mail/returned.ts'
import { readReturned } from './read-returned.ts'
import type { ReturnedJob } from './returned-reader.ts'

answerJobs<ReturnedJob, Returned>(({ bytes, formats, rules }) =>
  readReturned(bytes, { formats, categorize: createClassifier(() => rules) }),
)
