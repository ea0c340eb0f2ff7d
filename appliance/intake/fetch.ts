/** Fetches attachments given by URL, before anything of the request is stored. */
import { refuse } from '../mail/refusals.ts'
import type { GuardedFetch } from '../wire/fetch.ts'
import { describeFetchedAttachment, generateFilename } from './attachment.ts'
import type { LinkedAttachment, Submission, SubmittedAttachment } from './submission.ts'

/** Concurrent fetches for one request. */
const PARALLEL = 4
/**
 * Memory for fetched files of all requests, as a multiple of the largest message. A short URL can lead to a large file.
 */
const BUDGET = 4

export interface AttachmentFetcher {
  /**
   * Replaces every link of a submission with its file, in the caller's order, and gives each file a name. Dispose of
   * the result when the message is composed: until then, the files count toward the limit.
   * Refuses: `invalid_attachment` (with position and reason), `message_too_large`, `overloaded`.
   */
  collect(submission: Submission): Promise<{ submission: Submission } & Disposable>
}

export function createAttachmentFetcher(
  fetch: GuardedFetch,
  limits: { message_bytes: number },
): AttachmentFetcher {
  const budget = { held: 0, most: BUDGET * limits.message_bytes }
  return {
    async collect(submission) {
      if (submission.links.length === 0)
        return { submission: named(submission), [Symbol.dispose]: () => undefined }
      const meter = createMeter(roomFor(submission, limits.message_bytes), limits.message_bytes, budget)
      try {
        const fetched = await inParallel(submission.links, (link) => fetchOne(fetch, link, meter.count))
        const attachments = inOrder(submission, fetched)
        const whole = named({ ...submission, attachments, links: [] })
        return { submission: whole, [Symbol.dispose]: meter.release }
      } catch (error) {
        meter.release()
        throw error
      }
    },
  }
}

/** Names unnamed files. Some readers hide a file without a name, or save it with an unknown type. */
function named(submission: Submission): Submission {
  const attachments = submission.attachments.map((one, position) => ({
    ...one,
    filename: one.filename ?? generateFilename(one.contentType, position),
  }))
  return { ...submission, attachments }
}

/**
 * Returns how many bytes fetched files may have: the remaining message limit, minus base64 overhead (RFC 2045 §6.8).
 */
function roomFor({ html, text, attachments }: Submission, limit: number): number {
  const encoded = attachments.reduce((sum, { content }) => sum + Math.ceil(content.byteLength / 3) * 4, 0)
  return Math.floor(((limit - encoded - (html?.length ?? 0) - (text?.length ?? 0)) * 3) / 4)
}

/** Counts bytes that arrive for one request, against its own limit and that of all requests. */
function createMeter(room: number, limit: number, budget: { held: number; most: number }) {
  let held = 0
  return {
    count: (bytes: number): void => {
      held += bytes
      budget.held += bytes
      if (held > room) throw refuse('message_too_large', { limit })
      if (budget.held > budget.most) throw refuse('overloaded')
    },
    release: (): void => {
      budget.held -= held
      held = 0
    },
  }
}

async function fetchOne(
  fetch: GuardedFetch,
  link: LinkedAttachment,
  count: (bytes: number) => void,
): Promise<SubmittedAttachment> {
  const fetched = await fetch(link.url, count)
  if (fetched.kind === 'failed')
    throw refuse('invalid_attachment', { index: link.position + 1, expected: `its \`path\` ${fetched.note}` })
  return { ...describeFetchedAttachment(link, fetched), content: fetched.content }
}

/** Runs `work` on all items, a few at a time. After the first failure, starts no more. */
async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const queue = items.entries()
  let failed = false
  const run = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (failed) return
      results[index] = await work(item).catch((error: unknown) => {
        failed = true
        throw error
      })
    }
  }
  const runs = await Promise.allSettled(Array.from({ length: Math.min(PARALLEL, items.length) }, run))
  const wrong = runs.find((one) => one.status === 'rejected')
  if (wrong) throw wrong.reason
  return results
}

/** Merges fetched and given attachments in their original order. */
function inOrder({ attachments, links }: Submission, fetched: SubmittedAttachment[]): SubmittedAttachment[] {
  const given = attachments.values()
  const places = new Map(links.map(({ position }, index) => [position, fetched[index]!]))
  return Array.from(
    { length: attachments.length + links.length },
    (_, position) => places.get(position) ?? given.next().value!,
  )
}
