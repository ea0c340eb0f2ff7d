/** The thread that composes heavy messages: receives a draft and returns the message. Started by composer.ts. */
import { answerJobs } from '../capacity/answer-jobs.ts'
import { compose, type Composed } from './compose.ts'
import type { Draft } from './compose-plain.ts'

answerJobs<Draft, Composed>(
  async (draft) => {
    const composed = await compose(draft)
    const { message } = composed
    // A small buffer is part of Node's shared pool and can't be transferred.
    return message.byteLength === message.buffer.byteLength
      ? composed
      : { ...composed, message: Uint8Array.from(message) }
  },
  // Up to 40 MB.
  ({ message }) => [message.buffer as ArrayBuffer],
)
