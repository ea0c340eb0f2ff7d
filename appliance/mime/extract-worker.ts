/** The thread in which large messages are taken apart: one message, then it ends. Started by mime.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { extract, type Which } from './extract.ts'

const { message, which } = workerData as { message: Uint8Array; which: Which }
const content = await extract(message, which)
parentPort!.postMessage(content ?? null)
