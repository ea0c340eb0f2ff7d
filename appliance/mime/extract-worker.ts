/** The thread in which large messages are taken apart. Started by mime.ts. */
import { parentPort } from 'node:worker_threads'
import type { ThreadAnswer } from '../capacity/capacity.ts'
import { extract } from './extract.ts'
import type { ExtractJob } from './mime.ts'

const answer = (reply: ThreadAnswer<Uint8Array | undefined>): void => parentPort!.postMessage(reply)

parentPort!.on('message', ({ message, which }: ExtractJob) => {
  void extract(message, which).then(
    (result) => answer({ result }),
    (error: Error) => answer({ error }),
  )
})
