/** The thread in which heavy messages are composed: a draft comes in, the message goes back. Started by composer.ts. */
import { parentPort } from 'node:worker_threads'
import type { ThreadAnswer } from '../capacity/capacity.ts'
import { compose, type Composed } from './compose.ts'
import type { Draft } from './compose-plain.ts'

parentPort!.on('message', (draft: Draft) => {
  void compose(draft).then(
    (composed) => {
      // Moved, not copied: up to 40 MB. A small buffer lives in Node's shared pool, which cannot move.
      const { message } = composed
      const own = message.byteLength === message.buffer.byteLength ? message : Uint8Array.from(message)
      answer({ result: { ...composed, message: own } }, own.buffer as ArrayBuffer)
    },
    (error: Error) => answer({ error }),
  )
})

function answer(reply: ThreadAnswer<Composed>, ...moved: ArrayBuffer[]): void {
  parentPort!.postMessage(reply, moved)
}
