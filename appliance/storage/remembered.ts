/**
 * Remembers for a moment what every request asks: whose key that is, whether the domain may send, which plan the team has, which pool its mail leaves from.
 * Each answer is one trip to the reading thread, and there are four for an email that costs little else.
 */
import type { SqliteStorage } from './sqlite/sqlite.ts'

/**
 * How long an answer is believed, in milliseconds. Changes made through this storage are seen at once; those of other
 * processes (the command line) after this time: a key that is revoked there can send for so long.
 */
const BELIEVED = 1000
/** Answers remembered of each kind; then all are forgotten, so that memory is bounded. */
const MOST = 10_000

/** What is remembered. */
const ASKED = ['findApiKey', 'getApiKey', 'findDomain', 'planOf', 'listAssignments'] as const
/** The nouns whose writes make the memory forget. */
const NOUNS = ['apiKeys', 'domains', 'quotas', 'sources']

type Method = (args: object, now: number) => Promise<unknown>

/** The same storage with a short memory. Only what is found is remembered: a key that was just made works at once everywhere. */
export function remembered<S extends SqliteStorage>(storage: S): S {
  // Grows with each change, so that an answer from before it is not remembered after it.
  let generation = 0
  const memories: Map<string, unknown>[] = []
  const forget = (): void => {
    generation += 1
    for (const memory of memories) memory.clear()
  }

  const asking = (method: Method): Method => {
    const memory = new Map<string, { answer: unknown; at: number }>()
    memories.push(memory)
    return async (args, now) => {
      const key = JSON.stringify(args)
      const known = memory.get(key)
      if (known && now >= known.at && now - known.at < BELIEVED) return known.answer
      const begun = generation
      const answer = await method(args, now)
      if (answer === undefined || begun !== generation) return answer
      if (memory.size >= MOST) memory.clear()
      memory.set(key, { answer, at: now })
      return answer
    }
  }
  const changing =
    (method: Method): Method =>
    async (args, now) => {
      forget()
      try {
        return await method(args, now)
      } finally {
        forget()
      }
    }

  const method = (name: string): Method => {
    const found = storage[name as (typeof ASKED)[number]] as Method
    return (args, now) => found(args, now)
  }
  const changes = NOUNS.flatMap((noun) => storage.writesOf(noun))
  return {
    ...storage,
    ...Object.fromEntries(ASKED.map((name) => [name, asking(method(name))])),
    ...Object.fromEntries(changes.map((name) => [name, changing(method(name))])),
  }
}
