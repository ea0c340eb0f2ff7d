/** API calls for sign-up forms, and conversion of a form's settings to and from the values of the editor. */
import type { Static } from 'typebox'
import type { Form, FormList, UpdateForm } from '../../../appliance/api/forms.ts'
import type { FormField, FormTexts } from '../../../appliance/mail/form.ts'
import { PAGE_LANGUAGES, type PageLanguage } from '../../../appliance/mail/unsubscribe-page.ts'
import { change, read } from './client.ts'

const at = (id: string) => `/forms/${encodeURIComponent(id)}`

export const listForms = (signal?: AbortSignal) => read<Static<typeof FormList>>('/forms', signal)

export const getForm = (id: string, signal?: AbortSignal) => read<Form>(at(id), signal)

export const createForm = (name: string, from: string) => change<Form>('POST', '/forms', { name, from })

export const updateForm = (id: string, body: UpdateForm) => change<Form>('PATCH', at(id), body)

export const deleteForm = (id: string) => change('DELETE', at(id))

/** The texts of one language. An empty text stands for the default. */
export interface FormTextsDraft {
  title: string
  text: string
  consent: string
  button: string
  subject: string
  message: string
  labels: Record<string, string>
}

/** Values of the form editor. */
export interface FormDraft {
  name: string
  from: string
  segments: string[]
  topics: string[]
  fields: FormField[]
  /** Languages of the form, at least one; the first is the default. */
  languages: PageLanguage[]
  words: Record<PageLanguage, FormTextsDraft>
  submittedUrl: string
  confirmedUrl: string
  /** Sites that may embed the form, one per line. */
  origins: string
}

const TEXTS = ['title', 'text', 'consent', 'button', 'subject', 'message'] as const

export function toFormDraft(form: Form): FormDraft {
  const words = PAGE_LANGUAGES.map((language) => {
    const own = form.words[language]
    const texts = TEXTS.map((name) => [name, own?.[name] ?? ''] as const)
    return [language, { ...Object.fromEntries(texts), labels: { ...own?.labels } }] as const
  })
  return {
    name: form.name,
    from: form.from,
    segments: form.segment_ids,
    topics: form.topic_ids,
    fields: form.fields,
    languages: form.languages,
    words: Object.fromEntries(words) as FormDraft['words'],
    submittedUrl: form.submitted_url ?? '',
    confirmedUrl: form.confirmed_url ?? '',
    origins: form.allowed_origins.join('\n'),
  }
}

const orNull = (text: string): string | null => (text.trim() === '' ? null : text)

/** Returns the team's own texts in a language; null if there are none. */
function wordsOf(draft: FormDraft, language: PageLanguage): FormTexts | null {
  const own = draft.words[language]
  const labels = Object.entries(own.labels).filter(([, label]) => label.trim() !== '')
  const texts = TEXTS.map((name) => [name, orNull(own[name])] as const)
  if (labels.length === 0 && texts.every(([, text]) => text === null)) return null
  return { ...Object.fromEntries(texts), labels: Object.fromEntries(labels) } as unknown as FormTexts
}

/** Returns the texts by language, for the preview. */
export function toPreviewTexts(draft: FormDraft): Partial<Record<PageLanguage, FormTexts>> {
  const all = draft.languages.map((language) => [language, wordsOf(draft, language)] as const)
  return Object.fromEntries(all.filter(([, own]) => own !== null))
}

/** Returns the request body for saving. */
export const toRequestBody = (draft: FormDraft): UpdateForm => ({
  name: draft.name,
  from: draft.from,
  segment_ids: draft.segments,
  topic_ids: draft.topics,
  fields: draft.fields,
  languages: draft.languages,
  words: Object.fromEntries(PAGE_LANGUAGES.map((language) => [language, wordsOf(draft, language)])),
  submitted_url: orNull(draft.submittedUrl),
  confirmed_url: orNull(draft.confirmedUrl),
  allowed_origins: draft.origins.split(/\s+/).filter((one) => one !== ''),
})
