/** The thread in which arrived messages are read: a message comes in, its content goes back. Started by message-reader.ts. */
import { parentPort } from 'node:worker_threads'
import type { ThreadAnswer } from '../capacity/capacity.ts'
import { readLargeContent, type MessageContent } from './message-content.ts'

const answer = (reply: ThreadAnswer<MessageContent>): void => parentPort!.postMessage(reply)

parentPort!.on('message', (message: Uint8Array) => {
  void readLargeContent(message).then(
    (result) => answer({ result }),
    (error: Error) => answer({ error }),
  )
})
