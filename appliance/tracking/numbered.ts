/** Looks up the targets of numbered links in broadcasts. */
import type { Clock } from '../clock/clock.ts'
import type { Storage } from '../storage/storage.ts'

/** Number of revisions whose links are cached, because a link is often clicked many times within a day. */
const MOST_KNOWN = 100

export interface NumberedLinks {
  /**
   * Returns the target of a link; undefined if the revision has no link with this number. Rejects if the storage fails.
   */
  linkOf(revisionId: string, n: string): Promise<string | undefined>
}

export function createNumberedLinks({
  storage,
  clock,
}: {
  storage: Pick<Storage, 'getRevision'>
  clock: Clock
}): NumberedLinks {
  const known = new Map<string, readonly string[]>()
  const linksOf = async (id: string): Promise<readonly string[]> => {
    const found = known.get(id)
    if (found) return found
    const stored = await storage.getRevision({ id }, clock.now())
    if (stored === undefined) return []
    const { links = [] } = JSON.parse(stored) as { links?: string[] }
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(id, links)
    return links
  }
  return {
    async linkOf(revisionId, n) {
      return /^\d{1,5}$/.test(n) ? (await linksOf(revisionId))[Number(n)] : undefined
    },
  }
}
