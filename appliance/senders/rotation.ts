/**
 * The lifecycle of a domain's DKIM keys: pending, active, retiring, retired. Pure.
 *
 * A key signs only after its record was found, so that receivers can always look it up. Its predecessor stays published
 * until no mail signed with it can be in transit.
 */
import type { DkimKey, DkimKeyChange, RecordCheck, RecordStatus } from '../storage/storage.ts'
import { findFreeSlots, isAliased, PUBLISH_LEAD_MS } from './aliases.ts'
import { getDkimCheckKey } from './records.ts'

/**
 * How long a key is retiring, in milliseconds: longer than the retry period (96 hours), plus time for receivers that
 * verify late.
 */
export const RETIREMENT_PERIOD = 7 * 24 * 3_600_000

type Key = Pick<DkimKey, 'id' | 'selector' | 'algorithm' | 'state' | 'retireAt' | 'stateSince'>

/**
 * Returns the new state of each key after a check of the records; omits keys whose state doesn't change.
 * @param sends whether the domain can send now: if so, a key that our DNS server publishes signs only after all
 * resolvers have dropped the previous answer from their caches
 */
export function advanceKeyStates(
  keys: readonly Key[],
  checks: readonly RecordCheck[],
  now: number,
  sends = true,
): DkimKeyChange[] {
  const published = (key: Key): RecordStatus | undefined => {
    const early = sends && key.state === 'pending' && isAliased(key) && now < key.stateSince + PUBLISH_LEAD_MS
    return early ? undefined : checks.find((check) => check.key === getDkimCheckKey(key))?.status
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
      return [{ id: key.id, state: 'retiring', retireAt: now + RETIREMENT_PERIOD }]
    // Stop signing with an optional key that can't be verified.
    if (key.state === 'active' && key.algorithm === 'ed25519-sha256' && isGone(published(key)))
      return [{ id: key.id, state: 'pending', retireAt: null }]
    if (key.state === 'retiring' && key.retireAt !== null && key.retireAt <= now)
      return [{ id: key.id, state: 'retired', retireAt: null }]
    return []
  })
}

const isGone = (status: RecordStatus | undefined): boolean => status === 'failed' || status === 'pending'

/**
 * Decides whether to create keys for a domain that delegates its keys: if it has none, or when the current key has
 * signed long enough, another selector is free and its alias is published.
 * @param rotateMs how long a key signs
 */
export function isRotationDue(
  keys: readonly Key[],
  checks: readonly RecordCheck[],
  { now, rotateMs }: { now: number; rotateMs: number },
): boolean {
  const rsa = keys.filter(({ algorithm }) => algorithm === 'rsa-sha256')
  if (rsa.some((key) => key.state === 'pending' && isAliased(key))) return false
  const next = findFreeSlots(keys).find(({ algorithm }) => algorithm === 'rsa-sha256')
  if (!next) return false
  const signing = rsa.find((key) => key.state === 'active' && isAliased(key))
  if (!signing) return true
  if (now < signing.stateSince + rotateMs) return false
  return checks.find(({ key }) => key === getDkimCheckKey(next))?.status === 'verified'
}

/** Returns when the next key is due to retire; undefined if none is. */
export function findNextRetirement(keys: readonly Pick<DkimKey, 'retireAt'>[]): number | undefined {
  const times = keys.flatMap(({ retireAt }) => (retireAt === null ? [] : [retireAt]))
  return times.length === 0 ? undefined : Math.min(...times)
}

/**
 * Returns when to check for the record of a pending key: soon at first, then less often, but at least daily. Undefined
 * if none is pending.
 */
export function computeNextKeyCheck(keys: readonly Key[], now: number): number | undefined {
  const waiting = keys.find(({ state, algorithm }) => state === 'pending' && algorithm === 'rsa-sha256')
  if (!waiting) return undefined
  const wait = Math.min(Math.max((now - waiting.stateSince) / 2, 30_000), 24 * 3_600_000)
  return Math.round(now + wait)
}

/**
 * Picks selectors for a new pair of keys: first `posthaste` and `posthaste-ed25519`. Rotations append the UTC date, and
 * a number for further rotations on the same day.
 */
export function pickSelectors(taken: readonly string[], now: number): { rsa: string; ed25519: string } {
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
