/** The thread in which arrived messages are read: a message comes in, its content goes back. Started by message-reader.ts. */
import { parentPort } from 'node:worker_threads'
import { readContent } from './message-content.ts'
import type { ThreadReply } from './message-reader.ts'

const answer = (reply: ThreadReply): void => parentPort!.postMessage(reply)

parentPort!.on('message', (message: Uint8Array) => {
  void readContent(message).then(
    (content) => answer({ content }),
    (error: Error) => answer({ error }),
  )
})
