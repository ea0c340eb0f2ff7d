/** Replaces the unsubscribe tag in emails that aren't broadcasts with the link of the only recipient. Pure. */
import { getUnfoldedValue } from '../mail/headers.ts'
import { refuse } from '../mail/refusals.ts'
import { matchesText } from '../mime/search.ts'
import { listRecipients } from './topic.ts'
import type { Submission } from './submission.ts'

/** Matches the tag. A fallback in it is ignored, because there is always a link. */
const TAG = /\{\{\{\s*(?:RESEND_)?UNSUBSCRIBE_URL\s*(?:\|[^{}]*)?\}\}\}/g
/** A cheap test, because most emails have no tag. */
const WORD = 'UNSUBSCRIBE_URL'

const has = (part: string | null): boolean => part !== null && part.includes(WORD) && part.search(TAG) >= 0

/**
 * Reports whether a request has the tag. Notices are excluded, because they may quote the tag as the name of something.
 */
export const hasUnsubscribeTag = (submission: Submission): boolean => {
  const { subject, html, text, headers, notice, arrived } = submission
  if (notice) return false
  return has(subject) || has(html) || has(text) || headers.some(({ value }) => has(value)) || isIn(arrived)
}

const isIn = (arrived: Submission['arrived']): boolean =>
  arrived !== undefined &&
  (arrived.header.fields.some((field) => has(getUnfoldedValue(field))) ||
    matchesText(arrived.bytes, arrived.header, has))

/**
 * Replaces each tag in a submission with the link.
 * @param linkFor returns the link of an address; null if no public URL is available
 * Refuses: `unsubscribe_tag_smtp` for a message that arrived as bytes, because a change would break its signature and
 * structure; `unsubscribe_tag_recipients`, `unsubscribe_tag_link`.
 */
export function replaceUnsubscribeTags(
  submission: Submission,
  linkFor: (address: string) => string | null,
): Submission {
  const tag = `{{{${WORD}}}}`
  if (submission.arrived) throw refuse('unsubscribe_tag_smtp', { tag })
  const addresses = listRecipients(submission)
  if (addresses.length !== 1) throw refuse('unsubscribe_tag_recipients', { tag })
  const link = linkFor(addresses[0]!)
  if (link === null) throw refuse('unsubscribe_tag_link', { tag })
  const filled = (part: string): string => part.replaceAll(TAG, () => link)
  return {
    ...submission,
    subject: filled(submission.subject),
    html: submission.html && filled(submission.html),
    text: submission.text && filled(submission.text),
    headers: submission.headers.map(({ name, value }) => ({ name, value: filled(value) })),
  }
}
