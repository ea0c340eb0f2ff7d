/**
 * Ends transfers that are too slow. Otherwise, a client that sends an octet every few seconds would hold a connection
 * and its memory for an hour.
 */
import { getSteadyTime, type Clock } from '../clock/clock.ts'

/** Minimum rate in octets per second, and the window over which it is measured, in milliseconds. */
const LEAST_RATE = 1024
const WINDOW_MS = 30_000

/** A transfer in progress. */
export interface Transfer {
  /** Number of octets transferred so far. */
  readonly size: number
  /** Called when the transfer was too slow. */
  tooSlow(): void
}

export interface SlowTransferGuard {
  /** Watches a transfer until the returned function is called. */
  watch(transfer: Transfer): () => void
}

export function createSlowTransferGuard(clock: Clock): SlowTransferGuard {
  /** The size of each transfer at the start of the current window, and when that was. */
  const watched = new Map<Transfer, { size: number; since: number }>()
  let armed = false

  const look = (): void => {
    armed = false
    const now = getSteadyTime(clock)
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
      watched.set(transfer, { size: transfer.size, since: getSteadyTime(clock) })
      arm()
      return () => void watched.delete(transfer)
    },
  }
}
