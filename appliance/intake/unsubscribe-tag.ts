/** Replaces the unsubscribe tag in emails that aren't broadcasts with the link of the only recipient. Pure. */
import { refuse } from '../mail/refusals.ts'
import { recipientsOf } from './topic.ts'
import type { Submission } from './submission.ts'

/** Ignores a fallback, because there is always a link. */
const TAG = /\{\{\{\s*(?:RESEND_)?UNSUBSCRIBE_URL\s*(?:\|[^{}]*)?\}\}\}/g
/** A cheap test, because most emails have no tag. */
const WORD = 'UNSUBSCRIBE_URL'

const has = (part: string | null): boolean => part !== null && part.includes(WORD) && part.search(TAG) >= 0

/** Reports whether a request has the tag. Messages that arrived over SMTP are never changed. */
export const hasUnsubscribeTag = ({ html, text, arrived }: Submission): boolean =>
  !arrived && (has(html) || has(text))

/**
 * Replaces each tag in a submission with the link.
 * @param linkFor returns the link of an address; null if no public URL is available
 * Refuses: `unsubscribe_tag_recipients`, `unsubscribe_tag_link`.
 */
export function withUnsubscribeLink(
  submission: Submission,
  linkFor: (address: string) => string | null,
): Submission {
  const addresses = recipientsOf(submission)
  if (addresses.length !== 1) throw refuse('unsubscribe_tag_recipients', { tag: `{{{${WORD}}}}` })
  const link = linkFor(addresses[0]!)
  if (link === null) throw refuse('unsubscribe_tag_link', { tag: `{{{${WORD}}}}` })
  const filled = (part: string | null): string | null => part?.replaceAll(TAG, () => link) ?? null
  return { ...submission, html: filled(submission.html), text: filled(submission.text) }
}
