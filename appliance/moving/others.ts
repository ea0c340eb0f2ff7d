import { HostedFailed, type Hosted } from './hosted.ts'
import type { NotTaken } from './report.ts'

/** What the hosted service stores that can't be moved. */
const OTHERS: readonly (readonly [kind: string, path: string])[] = [
  ['contacts', '/contacts'],
  ['segments', '/segments'],
  ['topics', '/topics'],
  ['contact properties', '/contact-properties'],
  ['broadcasts', '/broadcasts'],
  ['templates', '/templates'],
  ['automations', '/automations'],
]

/** Counting more takes longer than the number is worth: a hundred pages. */
const MOST_COUNTED = 10_000

/** Counts what can't be moved; skips kinds that don't exist or can't be read. */
export async function countOthers(hosted: Hosted): Promise<NotTaken[]> {
  const counted: NotTaken[] = []
  for (const [kind, path] of OTHERS) {
    const { count, more } = await countOf(hosted, path)
    if (count > 0) counted.push({ kind, count, more })
  }
  return counted
}

async function countOf(hosted: Hosted, path: string): Promise<Omit<NotTaken, 'kind'>> {
  let count = 0
  try {
    for await (const _ of hosted.list(path)) {
      if (count === MOST_COUNTED) return { count, more: true }
      count += 1
    }
  } catch (error) {
    // Not every account has every kind. A service that stops responding is an error.
    const { status } = error as HostedFailed
    if (!(error instanceof HostedFailed) || status === null || status >= 429) throw error
  }
  return { count, more: false }
}
