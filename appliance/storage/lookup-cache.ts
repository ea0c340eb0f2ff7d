/**
 * A short-lived cache for the lookups of every request: API key, domain, plan and pool. Each lookup is a round trip to the
 * reading thread. An email needs four of them, which is a large part of its cost.
 */
import type { SqliteStorage } from './sqlite/sqlite.ts'

/**
 * Lifetime of an entry in milliseconds. Changes through this storage take effect immediately, changes by other processes
 * (the command line) after this time. A key that the command line revokes can send for that much longer.
 */
const BELIEVED = 1000
/** Maximum number of entries of each kind. When there are more, all are dropped to limit memory. */
const MOST = 10_000

/** The cached methods. */
const ASKED = ['findApiKey', 'getApiKey', 'findDomain', 'planOf', 'listAssignments', 'regionMap'] as const
/** Writes to these nouns clear the cache. */
const NOUNS = ['apiKeys', 'domains', 'domainChecks', 'quotas', 'sources', 'regions']

type Method = (args: object, now: number) => Promise<unknown>

/** Wraps a storage with the cache. Caches only successful lookups, so a new key works immediately everywhere. */
export function cacheLookups<S extends SqliteStorage>(storage: S): S {
  // Increases with each change, so that a result that was read before a change isn't cached after it.
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
