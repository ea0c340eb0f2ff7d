/** Ends transfers that are too slow: who sends an octet every few seconds would hold a connection and its memory for an hour. */
import { steady, type Clock } from '../clock/clock.ts'

/** The least that must come, in octets a second, and over how long that is measured (milliseconds). */
const LEAST_RATE = 1024
const WINDOW_MS = 30_000

/** Something that is being received. */
export interface Transfer {
  /** Octets so far. */
  readonly size: number
  /** It was too slow. */
  tooSlow(): void
}

export interface Pace {
  /** Watches a transfer until the returned function is called. */
  watch(transfer: Transfer): () => void
}

export function createPace(clock: Clock): Pace {
  /** Of each transfer: its size when its window began, and when that was. */
  const watched = new Map<Transfer, { size: number; since: number }>()
  let armed = false

  const look = (): void => {
    armed = false
    const now = steady(clock)
    for (const [transfer, window] of [...watched]) {
      if (now - window.since < WINDOW_MS) continue
      const enough = ((now - window.since) / 1000) * LEAST_RATE
      if (transfer.size - window.size < enough) {
        watched.delete(transfer)
        transfer.tooSlow()
      } else watched.set(transfer, { size: transfer.size, since: now })
    }
    arm()
  }
  const arm = (): void => {
    if (armed || watched.size === 0) return
    armed = true
    clock.after(WINDOW_MS / 6, look)
  }
  return {
    watch(transfer) {
      watched.set(transfer, { size: transfer.size, since: steady(clock) })
      arm()
      return () => void watched.delete(transfer)
    },
  }
}
