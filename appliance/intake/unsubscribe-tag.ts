/** The unsubscribe tag in emails that are no broadcasts: it becomes the link of the only recipient. Pure. */
import { refuse } from '../mail/refusals.ts'
import { recipientsOf } from './topic.ts'
import type { Submission } from './submission.ts'

/** A fallback is dropped: there is always a link. */
const TAG = /\{\{\{\s*(?:RESEND_)?UNSUBSCRIBE_URL\s*(?:\|[^{}]*)?\}\}\}/g
/** Cheap to look for, as most emails have no tag. */
const WORD = 'UNSUBSCRIBE_URL'

const has = (part: string | null): boolean => part !== null && part.includes(WORD) && part.search(TAG) >= 0

/** Whether a request has the tag. Messages that arrived over SMTP are finished: their bytes stay. */
export const hasUnsubscribeTag = ({ html, text, arrived }: Submission): boolean =>
  !arrived && (has(html) || has(text))

/**
 * The submission with the link in place of each tag.
 * @param linkFor the link of an address; null when nobody could follow it
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
