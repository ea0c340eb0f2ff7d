/** The content of the variants of an A/B test. Pure. */
import { formatMailbox, parseMailbox } from './address.ts'
import type { Variant } from './ab-test.ts'
import type { BroadcastContent } from './broadcast.ts'

/** Returns the content of each variant of a draft; only the draft's own content without a test. */
export const variantContents = (content: BroadcastContent): BroadcastContent[] => [
  content,
  ...(content.abTest?.variants ?? []).map((variant) => variantContent(content, variant)),
]

function variantContent(content: BroadcastContent, variant: Variant): BroadcastContent {
  const { fromName, subject, previewText, body } = variant
  return {
    ...content,
    from: fromName === null ? content.from : renamed(content.from, fromName),
    subject: subject ?? content.subject,
    previewText: previewText ?? content.previewText,
    html: body === null ? content.html : body.html,
    text: body === null ? content.text : body.text,
  }
}

function renamed(from: string, name: string): string {
  const mailbox = parseMailbox(from)
  return mailbox ? formatMailbox({ name, address: mailbox.address }) : from
}

/** Reports whether two contents would be the same email. */
export const isSameEmail = (one: BroadcastContent, other: BroadcastContent): boolean =>
  (['from', 'subject', 'previewText', 'html', 'text'] as const).every(
    (field) => (one[field] ?? '') === (other[field] ?? ''),
  )
