/** The thread in which heavy messages are composed: a draft comes in, the message goes back. Started by composer.ts. */
import { answerJobs } from '../capacity/answer-jobs.ts'
import { compose, type Composed } from './compose.ts'
import type { Draft } from './compose-plain.ts'

answerJobs<Draft, Composed>(
  async (draft) => {
    const composed = await compose(draft)
    const { message } = composed
    // A small buffer lives in Node's shared pool, which cannot move.
    return message.byteLength === message.buffer.byteLength
      ? composed
      : { ...composed, message: Uint8Array.from(message) }
  },
  // Up to 40 MB.
  ({ message }) => [message.buffer as ArrayBuffer],
)
