/**
 * Feedback-ID, which groups complaints in Gmail's feedback loop (https://support.google.com/mail/answer/6254652). Pure.
 */
import { createHash } from 'node:crypto'
import type { Stream } from '../mail/queue.ts'
import type { Caller } from '../senders/api-keys.ts'
import { getSubmissionChannel } from './email.ts'
import type { Submission } from './submission.ts'

export const FEEDBACK_ID = 'Feedback-ID'

/** The last part, which identifies the sender: 5 to 15 characters, the same in all mail. */
const SENDER = 'posthaste'

/** Hash digits that identify a team. */
const TEAM_DIGITS = 10

/**
 * Builds the value from the submission type, team and stream: `api:4f0c…:transactional:posthaste`. Recipients can read
 * it, so the team is hashed, and tags are left out. As the loop requires, each part has few values, and no value occurs
 * in two parts.
 */
export function buildFeedbackId(
  /** The submission type; for a broadcast, its ID. */
  via: string,
  teamId: string,
  stream: Stream,
): string {
  const team = createHash('sha256').update(teamId).digest('hex').slice(0, TEAM_DIGITS)
  return [via, team, stream, SENDER].join(':')
}

/** Returns the field of an email; none if the app has set its own. */
export function buildFeedbackFields(submission: Submission, caller: Caller): Submission['headers'] {
  if (submission.headers.some(({ name }) => name.toLowerCase() === FEEDBACK_ID.toLowerCase())) return []
  const via = getSubmissionChannel(submission, caller)
  return [
    {
      name: FEEDBACK_ID,
      value: buildFeedbackId(via === 'rest' ? 'api' : via, caller.teamId, submission.stream),
    },
  ]
}
