/**
 * Sends large responses in chunks, round robin over clients. Copying megabytes for hundreds of clients into the kernel
 * at the same time would delay all other clients.
 */
import { Readable } from 'node:stream'
import { createLoopQueue } from './loop.ts'

export interface ResponseChunker {
  /**
   * Returns a stream of the octets that respects backpressure and waits for its turn. The buffer must not change until
   * the stream ends.
   */
  pieces(whole: Buffer): Readable
}

/** Chunk size in octets. Larger chunks are no faster to copy. */
export const CHUNK_SIZE = 64 * 1024
/** Maximum number of chunks per turn of the event loop: a megabyte takes one to two milliseconds. */
const IN_ONE_TURN = 16

export function createResponseChunker(): ResponseChunker {
  const inLine = createLoopQueue(IN_ONE_TURN)
  return {
    pieces(whole) {
      let at = 0
      return new Readable({
        highWaterMark: CHUNK_SIZE,
        read() {
          inLine(() => {
            if (this.destroyed) return
            this.push(whole.subarray(at, at + CHUNK_SIZE))
            at += CHUNK_SIZE
            if (at >= whole.length) this.push(null)
          })
        },
      })
    },
  }
}
