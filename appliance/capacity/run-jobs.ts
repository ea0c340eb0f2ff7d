/**
 * The worker's side of `createThreads`: runs jobs in a worker thread. Separate from threads.ts so that a worker loads
 * nothing else.
 */
import { parentPort, type Transferable } from 'node:worker_threads'
import type { ThreadResponse } from './threads.ts'

/**
 * Runs `work` on each job of this thread and posts the result or the error.
 * @param movedOf buffers of a result that the thread no longer needs; they are transferred instead of copied
 */
export function processJobs<I, T>(
  work: (job: I) => T | Promise<T>,
  movedOf: (result: T) => Transferable[] = () => [],
): void {
  const say = (answer: ThreadResponse<T>, moved: Transferable[]) => parentPort!.postMessage(answer, moved)
  const answer = async (job: I): Promise<void> => {
    try {
      const result = await work(job)
      say({ result }, movedOf(result))
    } catch (error) {
      say({ error: error as Error }, [])
    }
  }
  parentPort!.on('message', (job: I) => void answer(job))
}
