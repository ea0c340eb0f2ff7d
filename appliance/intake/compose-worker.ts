/** The thread that composes heavy messages: receives a draft and returns the message. Started by composer.ts. */
import { processJobs } from '../capacity/run-jobs.ts'
import { composeMessage, type ComposedMessage } from './compose.ts'
import type { Draft } from './compose-plain.ts'

processJobs<Draft, ComposedMessage>(
  async (draft) => {
    const composed = await composeMessage(draft)
    const { message } = composed
    // A small buffer is part of Node's shared pool and can't be transferred.
    return message.byteLength === message.buffer.byteLength
      ? composed
      : { ...composed, message: Uint8Array.from(message) }
  },
  // Up to 40 MB.
  ({ message }) => [message.buffer as ArrayBuffer],
)
