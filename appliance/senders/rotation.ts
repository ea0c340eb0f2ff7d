/**
 * The lifecycle of a domain's DKIM keys: pending, active, retiring, retired. Pure.
 *
 * A key signs only after its record was found, so that receivers can always look it up. Its predecessor stays published
 * until no mail signed with it can be in transit.
 */
import type { DkimKey, DkimKeyChange, RecordCheck, RecordStatus } from '../storage/storage.ts'
import { freeSlots, isAliased, PUBLISHED_BEFORE } from './aliases.ts'
import { dkimKeyOf } from './records.ts'

/** Longer than the retry period (96 hours), plus time for receivers that verify late. */
export const RETIRE_AFTER = 7 * 24 * 3_600_000

type Key = Pick<DkimKey, 'id' | 'selector' | 'algorithm' | 'state' | 'retireAt' | 'stateSince'>

/**
 * Returns the new state of each key after a check of the records; omits keys that stay the same.
 * @param sends whether the domain can send now: then a key that our DNS server publishes signs only when no resolver
 * remembers what was there before
 */
export function turnKeys(
  keys: readonly Key[],
  checks: readonly RecordCheck[],
  now: number,
  sends = true,
): DkimKeyChange[] {
  const published = (key: Key): RecordStatus | undefined => {
    const early =
      sends && key.state === 'pending' && isAliased(key) && now < key.stateSince + PUBLISHED_BEFORE
    return early ? undefined : checks.find((check) => check.key === dkimKeyOf(key))?.status
  }
  return keys.flatMap((key): DkimKeyChange[] => {
    // The newest published key of an algorithm takes over.
    const successor = keys.findLast(
      (other) =>
        other.algorithm === key.algorithm && other.state === 'pending' && published(other) === 'verified',
    )
    if (key.state === 'pending')
      return key === successor ? [{ id: key.id, state: 'active', retireAt: null }] : []
    if (key.state === 'active' && successor)
      return [{ id: key.id, state: 'retiring', retireAt: now + RETIRE_AFTER }]
    // An optional signature that can't be verified is useless.
    if (key.state === 'active' && key.algorithm === 'ed25519-sha256' && isGone(published(key)))
      return [{ id: key.id, state: 'pending', retireAt: null }]
    if (key.state === 'retiring' && key.retireAt !== null && key.retireAt <= now)
      return [{ id: key.id, state: 'retired', retireAt: null }]
    return []
  })
}

const isGone = (status: RecordStatus | undefined): boolean => status === 'failed' || status === 'pending'

/**
 * Decides whether to create keys for a domain that delegates them: at first, and when the present key has signed long enough,
 * another selector is free and its alias is published.
 * @param rotateMs how long a key signs
 */
export function isRotationDue(
  keys: readonly Key[],
  checks: readonly RecordCheck[],
  { now, rotateMs }: { now: number; rotateMs: number },
): boolean {
  const rsa = keys.filter(({ algorithm }) => algorithm === 'rsa-sha256')
  if (rsa.some((key) => key.state === 'pending' && isAliased(key))) return false
  const next = freeSlots(keys).find(({ algorithm }) => algorithm === 'rsa-sha256')
  if (!next) return false
  const signing = rsa.find((key) => key.state === 'active' && isAliased(key))
  if (!signing) return true
  if (now < signing.stateSince + rotateMs) return false
  return checks.find(({ key }) => key === dkimKeyOf(next))?.status === 'verified'
}

/** Returns when the next key is due to retire; undefined when none is. */
export function nextRetirement(keys: readonly Pick<DkimKey, 'retireAt'>[]): number | undefined {
  const times = keys.flatMap(({ retireAt }) => (retireAt === null ? [] : [retireAt]))
  return times.length === 0 ? undefined : Math.min(...times)
}

/**
 * Returns when to check for the record of a pending key: soon at first, then less often, but at least daily. Undefined
 * when none is pending.
 */
export function nextProof(keys: readonly Key[], now: number): number | undefined {
  const waiting = keys.find(({ state, algorithm }) => state === 'pending' && algorithm === 'rsa-sha256')
  if (!waiting) return undefined
  const wait = Math.min(Math.max((now - waiting.stateSince) / 2, 30_000), 24 * 3_600_000)
  return Math.round(now + wait)
}

/**
 * Picks selectors for a new pair of keys: first `posthaste` and `posthaste-ed25519`; rotations add the UTC date, and a
 * number for further ones on the same day.
 */
export function newSelectors(taken: readonly string[], now: number): { rsa: string; ed25519: string } {
  const date = new Date(now).toISOString().slice(0, 10).replaceAll('-', '')
  const names = (suffix: string) => ({ rsa: `posthaste${suffix}`, ed25519: `posthaste-ed25519${suffix}` })
  const free = ({ rsa, ed25519 }: { rsa: string; ed25519: string }) =>
    !taken.includes(rsa) && !taken.includes(ed25519)
  if (taken.length === 0) return names('')
  for (let number = 1; ; number++) {
    const candidate = names(number === 1 ? `-${date}` : `-${date}-${number}`)
    if (free(candidate)) return candidate
  }
}
