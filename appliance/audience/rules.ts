/** Rules of segments: checks that everything they refer to exists, and counts matching contacts. */
import { setImmediate } from 'node:timers/promises'
import { checkOperands, parseRules } from '../mail/read-rules.ts'
import { eachRule, resolveRuleField, type Rules } from '../mail/rules.ts'
import { refuse } from '../mail/refusals.ts'
import type { ContactConditions, SizedSegment } from '../storage/storage.ts'
import type { AudienceDeps } from './find.ts'

/**
 * Reads the rules of a request. They may refer only to the team's properties, topics, segments and broadcasts, and not
 * to segments with rules. Refuses: `invalid_field`.
 */
export async function parseTeamRules(
  { storage, clock }: AudienceDeps,
  teamId: string,
  given: unknown,
): Promise<Rules> {
  const rules = parseRules(given)
  const now = clock.now()
  const properties = new Map(
    (await storage.listContactProperties({ teamId }, now)).map(({ key, type }) => [key, type]),
  )
  const topics = new Set((await storage.listTopics({ teamId }, now)).map(({ id }) => id))
  const segments = new Set(
    (await storage.listSegments({ teamId }, now)).flatMap(({ id, filter }) => (filter ? [] : [id])),
  )
  for (const [rule, path] of eachRule(rules)) {
    const field = resolveRuleField(rule.field)
    const unknown = (expected: string) => refuse('invalid_field', { field: `${path}.field`, expected })
    if (field?.kind === 'property') {
      const type = properties.get(field.key)
      if (!type) throw unknown('a contact property that exists')
      checkOperands(rule, type === 'string' ? 'text' : 'number', path)
    }
    if (field?.kind === 'topic' && !topics.has(field.id)) throw unknown('a topic that exists')
    if (field?.kind === 'segment' && !segments.has(field.id))
      throw unknown('a segment that exists and has no rules')
    if (field?.kind === 'broadcast' && !(await storage.getBroadcast({ teamId, id: field.id }, now)))
      throw unknown('a broadcast that exists')
  }
  return rules
}

/** Number of counting steps per request: together 40,000 contacts, some 60 ms. */
export const COUNT_STEPS_PER_REQUEST = 2

/**
 * Counts matching contacts in steps of some 30 ms, so that other requests can run in between. Each result's `after` is
 * where its step began.
 */
export async function* countSteps(
  { storage, clock }: AudienceDeps,
  { after: from, ...args }: { teamId: string; after?: string | undefined } & ContactConditions,
): AsyncGenerator<{ count: number; after: string | undefined; next: string | null }, void> {
  for (let after = from; ;) {
    const { count, next } = await storage.countMatching({ ...args, after }, clock.now())
    yield { count, after, next }
    if (next === null) return
    after = next
    await setImmediate()
  }
}

/** How long the size of a segment is cached: counting a million contacts takes a second. */
const FRESH = 60_000

/** Caches the sizes of segments with rules. */
export interface SegmentSizes {
  /** Returns the segment with a size at most a minute old. */
  fresh(segment: SizedSegment): Promise<SizedSegment>
  /** Like `fresh`, but if counting takes long, returns the last size and continues in the background. */
  soon(segment: SizedSegment): Promise<SizedSegment>
  /** Counts the segments whose size is older than a minute, in the background. */
  refresh(segments: readonly SizedSegment[]): void
  /** Resolves after the current steps. */
  close(): Promise<void>
}

type Size = Pick<SizedSegment, 'contacts' | 'countedAt'>

/** A segment that is being counted, or was counted within the last minute. */
interface Counting {
  filter: string
  /** When the count ended; null while it is running. */
  countedAt: number | null
  whole: Promise<Size>
  /** Resolves when `COUNT_STEPS_PER_REQUEST` steps weren't enough to finish the count. */
  long: Promise<void>
}

/** Counts the contacts of a segment with rules, and stores the size. Returns the last size if `going` returns false. */
async function count(
  deps: AudienceDeps,
  { id, teamId, filter, ...last }: SizedSegment,
  { isLong, going }: { isLong: () => void; going: () => boolean },
): Promise<Size> {
  let contacts = 0
  let steps = 0
  for await (const step of countSteps(deps, { teamId, rules: filter! })) {
    contacts += step.count
    steps += 1
    if (steps === COUNT_STEPS_PER_REQUEST && step.next !== null) isLong()
    if (!going() && step.next !== null) return { contacts: last.contacts, countedAt: last.countedAt }
  }
  const countedAt = deps.clock.now()
  await deps.storage.saveSegmentCount({ id, filter: filter!, contacts }, countedAt)
  return { contacts, countedAt }
}

export function createSegmentSizes(deps: AudienceDeps): SegmentSizes {
  const { clock } = deps
  const counts = new Map<string, Counting>()
  let background: Promise<void> | null = null
  let closed = false

  const isFresh = ({ filter, countedAt }: SizedSegment): boolean =>
    !filter || (countedAt !== null && clock.now() - countedAt < FRESH)
  // A request may have read the segment before a count ended; it must not begin another count.
  const counting = (segment: SizedSegment): Counting => {
    const { id } = segment
    const filter = JSON.stringify(segment.filter)
    const last = counts.get(id)
    if (last?.filter === filter && (last.countedAt === null || clock.now() - last.countedAt < FRESH))
      return last
    const { promise: long, resolve } = Promise.withResolvers<void>()
    const made: Counting = {
      filter,
      countedAt: null,
      whole: count(deps, segment, { isLong: resolve, going: () => !closed }),
      long,
    }
    counts.set(id, made)
    void made.whole.then(
      ({ countedAt }) => (made.countedAt = countedAt),
      () => counts.delete(id),
    )
    return made
  }
  const fresh = async (segment: SizedSegment): Promise<SizedSegment> =>
    isFresh(segment) ? segment : { ...segment, ...(await counting(segment).whole) }

  return {
    fresh,
    async soon(segment) {
      if (isFresh(segment)) return segment
      const { whole, long } = counting(segment)
      return { ...segment, ...(await Promise.race([whole, long])) }
    },
    refresh(segments) {
      const stale = segments.filter((one) => !isFresh(one))
      if (stale.length === 0 || closed) return
      background ??= (async () => {
        for (const segment of stale) if (!closed) await fresh(segment)
      })()
        // A failed count is repeated when the segments are listed again.
        .catch(() => undefined)
        .finally(() => (background = null))
    },
    async close() {
      closed = true
      await background
      await Promise.allSettled([...counts.values()].map(({ whole }) => whole))
    },
  }
}
