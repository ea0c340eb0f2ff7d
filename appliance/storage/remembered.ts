/**
 * Remembers for a moment what every request asks: whose key that is, whether the domain may send, which plan the team has, which pool its mail leaves from.
 * Each answer is one trip to the reading thread, and there are four for an email that costs little else.
 */
import type { Storage, StorageOf } from './storage.ts'

/**
 * How long an answer is believed, in milliseconds. Changes made through this storage are seen at once; those of other
 * processes (the command line) after this time: a key that is revoked there can send for so long.
 */
const BELIEVED = 1000
/** Answers remembered of each kind; then all are forgotten, so that memory is bounded. */
const MOST = 10_000

/** What a method means for what is remembered. A new method has to be put here. */
const effects: Record<
  keyof StorageOf<'apiKeys' | 'domains' | 'dkimKeys' | 'quotas' | 'sources'>,
  'asks' | 'changes' | 'nothing'
> = {
  findApiKey: 'asks',
  getApiKey: 'asks',
  findDomain: 'asks',
  planOf: 'asks',
  listAssignments: 'asks',
  createApiKey: 'nothing',
  listApiKeys: 'nothing',
  touchApiKeys: 'nothing',
  createDomain: 'changes',
  renameApiKey: 'changes',
  deleteApiKey: 'changes',
  deleteDomain: 'changes',
  updateDomain: 'changes',
  saveDomainCheck: 'changes',
  scheduleDomainCheck: 'changes',
  setPlan: 'changes',
  saveAssignment: 'changes',
  removeAssignment: 'changes',
  listDomains: 'nothing',
  trackingDomains: 'nothing',
  isDomainHeld: 'nothing',
  getDomain: 'nothing',
  dueDomains: 'nothing',
  nextDomainCheck: 'nothing',
  addDkimKeys: 'nothing',
  dkimKeys: 'nothing',
  signingKeys: 'nothing',
  usage: 'nothing',
  usageHistory: 'nothing',
  listSources: 'nothing',
  addSource: 'nothing',
  saveSource: 'nothing',
  removeSource: 'nothing',
}

type Method = (args: object, now: number) => Promise<unknown>

/** The same storage with a short memory. Only what is found is remembered: a key that was just made works at once everywhere. */
export function remembered<S extends Storage>(storage: S): S {
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

  const changed: Partial<Record<string, Method>> = {}
  for (const [name, effect] of Object.entries(effects)) {
    if (effect === 'nothing') continue
    const asked = name as keyof typeof effects
    const method: Method = (args, now) => (storage[asked] as Method)(args, now)
    changed[name] = effect === 'asks' ? asking(method) : changing(method)
  }
  return { ...storage, ...changed }
}
