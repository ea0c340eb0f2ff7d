/** Tells the log before the process runs out of file descriptors: the kernel then lets nobody in, and no error names the cause. */
import { readdir, readFile } from 'node:fs/promises'
import type { Logger } from './log.ts'

/** How often they are counted (milliseconds). */
const COUNT_MS = 2000
/** Shares of the limit at which it is told that few are left, and that there are enough again. */
const FEW = 0.9
const ENOUGH = 0.8

const WORDS =
  'almost out of file descriptors: new connections wait or are closed and some deliveries are delayed, but nothing is lost. Raise LimitNOFILE (ulimit -n), or lower smtp.max_connections and delivery.max_connections'

/** The soft limit of open files in the text of `/proc/self/limits`; null where there is none. */
function readLimit(limits: string): number | null {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? null : Number(soft)
}

/** Open descriptors of this process; as many as there may be where not even the question finds one. */
async function count(limit: number): Promise<number> {
  try {
    return (await readdir('/proc/self/fd')).length
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EMFILE' || code === 'ENFILE') return limit
    throw error
  }
}

/** Begins to count; returns how to stop. Systems without `/proc` are not watched. */
export function watchDescriptors(log: Logger): () => void {
  let few = false
  // At once: later there may be no descriptor left to read it with.
  const known = readFile('/proc/self/limits', 'utf8').then(readLimit, () => null)
  const look = async (): Promise<void> => {
    const limit = await known
    if (limit === null) return
    const open = await count(limit)
    if (!few && open >= limit * FEW) log.error({ open, limit }, WORDS)
    if (few && open < limit * ENOUGH) log.info({ open, limit }, 'enough file descriptors are free again')
    few = open >= limit * (few ? ENOUGH : FEW)
  }
  // By real time: they do not wait for the clock of the mail.
  const timer = setInterval(() => {
    look().catch((error: unknown) => {
      clearInterval(timer)
      log.debug({ err: error }, 'cannot count file descriptors on this system')
    })
  }, COUNT_MS).unref()
  return () => clearInterval(timer)
}
