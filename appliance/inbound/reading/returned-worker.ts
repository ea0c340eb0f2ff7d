/** The thread that reads large returned messages. Started by returned-reader.ts. */
import { processJobs } from '../../capacity/run-jobs.ts'
import { createClassifier } from '../../mail/classify.ts'
import type { ParsedReturnedMessage } from '../../mail/returned.ts'
import { classifyReturnedMessage } from './read-returned.ts'
import type { ReturnedMailJob } from './returned-reader.ts'

processJobs<ReturnedMailJob, ParsedReturnedMessage>(({ bytes, formats, rules }) =>
  classifyReturnedMessage(bytes, { formats, categorize: createClassifier(() => rules) }),
)
