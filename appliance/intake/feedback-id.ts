/** Feedback-ID: what Gmail's feedback loop counts complaints by (https://support.google.com/mail/answer/6254652). Pure. */
import { createHash } from 'node:crypto'
import type { Stream } from '../mail/queue.ts'
import type { Caller } from '../senders/caller.ts'
import { viaOf } from './email.ts'
import type { Submission } from './submission.ts'

export const FEEDBACK_ID = 'Feedback-ID'

/** The last part, which names who sends: 5 to 15 characters, the same in all mail. */
const SENDER = 'posthaste'

/** Digits of a hash are enough to tell teams apart. */
const TEAM_DIGITS = 10

/**
 * How it came, whose it is and what it competes with, as `api:4f0c…:transactional:posthaste`. Recipients can read it: the team is hashed, and
 * tags are not in it. Each part is of few values, and none stands in two places, as the loop wants it.
 */
export function feedbackIdFor(
  /** Of a broadcast: its id. */
  via: string,
  teamId: string,
  stream: Stream,
): string {
  const team = createHash('sha256').update(teamId).digest('hex').slice(0, TEAM_DIGITS)
  return [via, team, stream, SENDER].join(':')
}

/** The field of an email; none if the app has set its own. */
export function feedbackFields(submission: Submission, caller: Caller): Submission['headers'] {
  if (submission.headers.some(({ name }) => name.toLowerCase() === FEEDBACK_ID.toLowerCase())) return []
  const via = viaOf(submission, caller)
  return [
    {
      name: FEEDBACK_ID,
      value: feedbackIdFor(via === 'rest' ? 'api' : via, caller.teamId, submission.stream),
    },
  ]
}
