/** The public module of intake: the only way to create an email. */
export {
  createIntake,
  type Accepted,
  type IntakeDeps,
  type Intake,
  type ItemError,
  type RequestName,
  type SendRequest,
} from './accept.ts'
export { textFrom } from './compose.ts'
export { createComposer, type Composer } from './composer.ts'
export { createContents, type Contents } from './contents.ts'
export { FEEDBACK_ID, feedbackIdFor } from './feedback-id.ts'
export { fingerprintOf, readIdempotencyKey } from './idempotency.ts'
export { readArrival } from './message.ts'
export type { Notice } from './notice-mail.ts'
export { QuotaRefusal } from './quota.ts'
export { dropHeaders, readRequest } from './request.ts'
export { checkSchedule, readSchedule } from './schedule.ts'
export { createSchedules, type Schedules } from './scheduled.ts'
export type { Submission } from './submission.ts'
export { unsubscribeFields } from './topic.ts'
