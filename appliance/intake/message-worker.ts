/** The thread in which large arrived messages are read: one message, then it ends. Started by message-reader.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { readContent } from './message-content.ts'

parentPort!.postMessage(await readContent(workerData as Uint8Array))
