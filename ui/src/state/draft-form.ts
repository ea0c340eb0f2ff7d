/** The draft of a broadcast as a form, and what of it is to be stored. Pure. */
import type { UpdateBroadcast } from '../../../appliance/api/broadcasts.ts'
import type { Broadcast } from '../api/broadcasts.ts'

/** What a draft says, as it is edited. */
export interface DraftForm {
  name: string
  segment: string
  /** Ids of segments. */
  exclude: string[]
  /** Empty: none. */
  topic: string
  from: string
  /** Addresses with commas. */
  replyTo: string
  subject: string
  preview: string
  html: string
  /** Null: made from the HTML. */
  text: string | null
  /** What HTML and text are compiled from by the server; null: they are written as code. */
  document: Record<string, unknown> | null
}

/** The form of a stored draft. */
export const formOf = (draft: Broadcast): DraftForm => ({
  ...{ name: draft.name, segment: draft.segment_id, exclude: draft.exclude_segment_ids },
  ...{ topic: draft.topic_id ?? '', from: draft.from, replyTo: draft.reply_to?.join(', ') ?? '' },
  ...{ subject: draft.subject, preview: draft.preview_text ?? '', html: draft.html ?? '', text: draft.text },
  document: draft.document,
})

const bodyOf = (form: DraftForm): UpdateBroadcast => ({
  ...{ name: form.name, segment_id: form.segment, exclude_segment_ids: form.exclude },
  ...{ topic_id: form.topic || null, from: form.from, subject: form.subject },
  reply_to: form.replyTo.split(',').flatMap((one) => one.trim() || []),
  preview_text: form.preview || null,
  ...(form.document === null ? { html: form.html || null, text: form.text } : { document: form.document }),
})

/** The fields that differ, as a request has them; null: none does. */
export function changesOf(now: DraftForm, stored: DraftForm): UpdateBroadcast | null {
  const before = new Map(Object.entries(bodyOf(stored)))
  const changed = Object.entries(bodyOf(now)).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before.get(field)),
  )
  return changed.length === 0 ? null : Object.fromEntries(changed)
}

/** How often the server counts an edit for `changes`: a name is none. */
export const editsOf = (changes: UpdateBroadcast): number =>
  Object.keys(changes).some((field) => field !== 'name') ? 1 : 0
