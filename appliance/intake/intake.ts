/** The public module of intake: the only way to create an email. */
export {
  createIntake,
  type AcceptResult,
  type IntakeDeps,
  type Intake,
  type ItemError,
  type RequestIdentity,
  type SendRequest,
} from './accept.ts'
export { htmlToText } from './compose.ts'
export { createComposer, type Composer } from './composer.ts'
export { createEmailContentReader, type EmailContentReader } from './contents.ts'
export { FEEDBACK_ID, buildFeedbackId } from './feedback-id.ts'
export { computeFingerprint, parseIdempotencyKey } from './idempotency.ts'
export { parseArrival } from './message.ts'
export type { Notice } from './notice-mail.ts'
export { QuotaRefusal } from './quota.ts'
export { dropHeaders, parseRequest } from './request.ts'
export { checkSchedule, parseSchedule } from './schedule.ts'
export { createScheduledEmails, type ScheduledEmails } from './scheduled.ts'
export type { Submission } from './submission.ts'
export { buildUnsubscribeFields } from './topic.ts'
