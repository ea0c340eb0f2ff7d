/** The other end of `createThreads`: what a worker thread does with its jobs. Apart from capacity.ts, so that a thread loads nothing else. */
import { parentPort, type Transferable } from 'node:worker_threads'
import type { ThreadAnswer } from './threads.ts'

/**
 * Answers each job of this thread with what `work` makes of it, or with what it throws.
 * @param movedOf buffers of a result that the thread no longer needs: they are moved, not copied
 */
export function answerJobs<I, T>(
  work: (job: I) => T | Promise<T>,
  movedOf: (result: T) => Transferable[] = () => [],
): void {
  const say = (answer: ThreadAnswer<T>, moved: Transferable[]) => parentPort!.postMessage(answer, moved)
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
