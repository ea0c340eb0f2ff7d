/**
 * Logs a warning before the process runs out of file descriptors. After that, connections fail and no error names the
 * cause.
 */
import { readdir, readFile } from 'node:fs/promises'
import type { Logger } from './log.ts'

/** Interval between counts, in milliseconds. */
const COUNT_MS = 2000
/** Shares of the limit: an error is logged from the first on, and the recovery below the second. */
const FEW = 0.9
const ENOUGH = 0.8

const WORDS =
  'almost out of file descriptors: new connections wait or are closed and some deliveries are delayed, but nothing is lost. Raise LimitNOFILE (ulimit -n), or lower smtp.max_connections and delivery.max_connections'

/** Reads the soft limit of open files from `/proc/self/limits`; null when there is none. */
function readLimit(limits: string): number | null {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? null : Number(soft)
}

/** Counts open descriptors of this process. Returns the limit if no descriptor is left for counting. */
async function count(limit: number): Promise<number> {
  try {
    return (await readdir('/proc/self/fd')).length
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EMFILE' || code === 'ENFILE') return limit
    throw error
  }
}

/** Starts counting. Returns a function that stops it. Does nothing on systems without `/proc`. */
export function watchDescriptors(log: Logger): () => void {
  let few = false
  // Read the limit now, because later there may be no descriptor left for it.
  const known = readFile('/proc/self/limits', 'utf8').then(readLimit, () => null)
  const look = async (): Promise<void> => {
    const limit = await known
    if (limit === null) return
    const open = await count(limit)
    if (!few && open >= limit * FEW) log.error({ open, limit }, WORDS)
    if (few && open < limit * ENOUGH) log.info({ open, limit }, 'enough file descriptors are free again')
    few = open >= limit * (few ? ENOUGH : FEW)
  }
  // Uses real time, so that changes of the clock don't affect it.
  const timer = setInterval(() => {
    look().catch((error: unknown) => {
      clearInterval(timer)
      log.debug({ err: error }, 'cannot count file descriptors on this system')
    })
  }, COUNT_MS).unref()
  return () => clearInterval(timer)
}
