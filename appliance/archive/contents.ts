/**
 * Renders the broadcasts of archives for strangers, and keeps the results in memory, up to a limit. The content of a
 * revision never changes, so a request reads only whether the broadcast is still published.
 */
import { LRUCache } from 'lru-cache'
import { hash } from 'node:crypto'
import { publishedContent } from '../broadcasts/broadcasts.ts'
import type { Clock } from '../clock/clock.ts'
import type { ArchivedBroadcast, StorageSubset } from '../storage/storage.ts'

/** The content of a broadcast. Its HTML is untrusted. */
export interface ArchivedContent {
  html: string | null
  text: string | null
  /** Entity tag of the content (RFC 9110 §8.8.3). */
  tag: string
}

/** The data of a broadcast that lists show. */
export interface ArchivedSummary {
  subject: string
  /** Its preview text, or the beginning of its text; empty if it has no text. */
  summary: string
}

export interface ArchiveContents {
  /** Returns the content; undefined if the broadcast was deleted. */
  contentOf(broadcast: ArchivedBroadcast): Promise<ArchivedContent | undefined>
  /** Returns what lists show; undefined if the broadcast was deleted. */
  summaryOf(broadcast: ArchivedBroadcast): Promise<ArchivedSummary | undefined>
}

/** Cache limits: total number of characters of all contents, and number of summaries. */
const MOST = { characters: 8_000_000, summaries: 5000 }
/** Maximum length of a summary in characters. */
const SUMMARY = 200

export function createArchiveContents({
  storage,
  clock,
}: {
  storage: StorageSubset<'broadcasts' | 'broadcastStates'>
  clock: Clock
}): ArchiveContents {
  const render = async ({ teamId, id, revisionId }: ArchivedBroadcast) => {
    const broadcast = await storage.getBroadcast({ teamId, id }, clock.now())
    const stored = await storage.getRevision({ id: revisionId }, clock.now())
    if (!broadcast || stored === undefined) return undefined
    const { subject, previewText, html, text } = publishedContent(stored, broadcast.content.previewText)
    const tag = hash('sha1', JSON.stringify([html, text]), 'base64url')
    return {
      content: { html, text, tag },
      summary: { subject, summary: beginningOf(previewText ?? '') || beginningOf(text ?? '') },
    }
  }
  // Concurrent requests for the same broadcast render it once.
  const contents = new LRUCache<string, ArchivedContent, ArchivedBroadcast>({
    maxSize: MOST.characters,
    sizeCalculation: ({ html, text }) => (html?.length ?? 0) + (text?.length ?? 0) + 1000,
    fetchMethod: async (_key, _old, { context }) => (await render(context))?.content,
  })
  // A separate cache, because a long list would otherwise evict the contents that are being read.
  const summaries = new LRUCache<string, ArchivedSummary, ArchivedBroadcast>({
    max: MOST.summaries,
    fetchMethod: async (_key, _old, { context }) => (await render(context))?.summary,
  })
  return {
    contentOf: (one) => contents.fetch(one.revisionId, { context: one }),
    summaryOf: (one) => summaries.fetch(one.revisionId, { context: one }),
  }
}

/** Returns the beginning of a text on one line, with an ellipsis if it is shortened. */
function beginningOf(text: string): string {
  // Mail clients show zero-width characters after the preview text, which keep the body out of their lists.
  const line = text
    .slice(0, 20 * SUMMARY)
    .replaceAll(/[\u034f\u200b-\u200d\u2060\ufeff\u00ad]/g, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (line.length <= SUMMARY) return line.toWellFormed()
  const cut = line.slice(0, SUMMARY - 1)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), SUMMARY / 2)).toWellFormed()}…`
}
