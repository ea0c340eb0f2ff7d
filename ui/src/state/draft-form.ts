/** A broadcast draft as a form, and the changes to save. Pure. */
import type { Broadcast, UpdateBroadcast } from '../../../appliance/api/broadcasts.ts'
import { abTestFormOf, type AbTestForm, givenAbTest } from './ab-test-form.ts'

/** Form values of a draft. */
export interface DraftForm {
  name: string
  segment: string
  /** Ids of excluded segments. */
  exclude: string[]
  /** ID of the topic; empty for none. */
  topic: string
  from: string
  /** Comma-separated addresses. */
  replyTo: string
  subject: string
  preview: string
  html: string
  /** Plain text; null if it is generated from the HTML. */
  text: string | null
  /** The source that the server compiles into HTML and text; null if they are written as code. */
  document: Record<string, unknown> | null
  /** Null: no A/B test. */
  abTest: AbTestForm | null
}

/** Returns the form of a saved draft. */
export const toDraftForm = (draft: Broadcast): DraftForm => ({
  name: draft.name,
  segment: draft.segment_id,
  exclude: draft.exclude_segment_ids,
  topic: draft.topic_id ?? '',
  from: draft.from,
  replyTo: draft.reply_to?.join(', ') ?? '',
  subject: draft.subject,
  preview: draft.preview_text ?? '',
  html: draft.html ?? '',
  text: draft.text,
  document: draft.document,
  abTest: abTestFormOf(draft.ab_test),
})

const bodyOf = (form: DraftForm): UpdateBroadcast => ({
  name: form.name,
  segment_id: form.segment,
  exclude_segment_ids: form.exclude,
  topic_id: form.topic || null,
  from: form.from,
  subject: form.subject,
  reply_to: form.replyTo.split(',').flatMap((one) => one.trim() || []),
  preview_text: form.preview || null,
  ab_test: givenAbTest(form.abTest),
  ...(form.document === null ? { html: form.html || null, text: form.text } : { document: form.document }),
})

/** Returns the changed fields for an update request; null if there are none. */
export function getChanges(now: DraftForm, stored: DraftForm): UpdateBroadcast | null {
  const before = new Map(Object.entries(bodyOf(stored)))
  const changed = Object.entries(bodyOf(now)).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before.get(field)),
  )
  return changed.length === 0 ? null : Object.fromEntries(changed)
}

/** Returns how many edits the server counts for `changes`. A new name isn't counted. */
export const countEdits = (changes: UpdateBroadcast): number =>
  Object.keys(changes).some((field) => field !== 'name') ? 1 : 0
