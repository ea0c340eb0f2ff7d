import type { Storage } from '../../../appliance/storage/storage.ts'

/** The daemon's work in progress, as seen from its storage calls. */
export interface Work {
  /** Number of storage calls in progress. */
  readonly calls: number
  /** Number of completed storage calls. */
  readonly done: number
  /** Number of leased deliveries. */
  readonly deliveries: number
}

type Method = (args: unknown, now: number) => Promise<unknown>

/** Counts a storage's calls from now on. Doesn't change what they do. */
export function watchWork(storage: Storage): Work {
  const leased = new Set<string>()
  const work = {
    calls: 0,
    done: 0,
    get deliveries() {
      return leased.size
    },
  }
  const note = (name: string, args: unknown, answer: unknown): void => {
    if (name === 'lease') for (const { id } of answer as { id: string }[]) leased.add(id)
    if (name === 'settle')
      for (const one of (args as { changes: { deliveryId: string }[] }).changes) leased.delete(one.deliveryId)
    if (name === 'unlease')
      for (const id of (args as { deliveryIds: string[] }).deliveryIds) leased.delete(id)
  }
  const methods = storage as unknown as Record<string, Method>
  for (const name of Object.keys(methods)) {
    const method = methods[name]
    if (typeof method !== 'function' || name === 'close' || name === 'stats') continue
    methods[name] = async (args, now) => {
      work.calls++
      try {
        const answer = await method(args, now)
        note(name, args, answer)
        return answer
      } finally {
        work.calls--
        work.done++
      }
    }
  }
  return work
}
