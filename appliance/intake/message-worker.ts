/** The thread in which large messages are read: a message comes in, its content goes back. Started by message-reader.ts. */
import { parentPort } from 'node:worker_threads'
import type { ThreadAnswer } from '../capacity/capacity.ts'
import { readBack, type Content } from './composed-content.ts'
import { readLargeContent } from './message-content.ts'
import type { ReadJob } from './message-reader.ts'

const answer = (reply: ThreadAnswer<Content>): void => parentPort!.postMessage(reply)

const read = async ({ message, stored }: ReadJob): Promise<Content> =>
  stored ? readBack(stored, message) : readLargeContent(message)

parentPort!.on('message', (job: ReadJob) => {
  void read(job).then(
    (result) => answer({ result }),
    (error: Error) => answer({ error }),
  )
})
