/**
 * Large answers go out in pieces, by turns among all clients that wait for one: to copy megabytes for hundreds of clients into the
 * kernel at once would keep all others waiting.
 */
import { Readable } from 'node:stream'
import { createLoopLine } from './loop.ts'

export interface Outgoing {
  /** The octets as a stream that gives them out as clients read and its turn comes. They must not change meanwhile. */
  pieces(whole: Buffer): Readable
}

/** Octets of one piece: larger ones are copied no faster. */
export const PIECE = 64 * 1024
/** Pieces in one turn of the event loop: a megabyte takes one to two milliseconds. */
const IN_ONE_TURN = 16

export function createOutgoing(): Outgoing {
  const inLine = createLoopLine(IN_ONE_TURN)
  return {
    pieces(whole) {
      let at = 0
      return new Readable({
        highWaterMark: PIECE,
        read() {
          inLine(() => {
            if (this.destroyed) return
            this.push(whole.subarray(at, at + PIECE))
            at += PIECE
            if (at >= whole.length) this.push(null)
          })
        },
      })
    },
  }
}
