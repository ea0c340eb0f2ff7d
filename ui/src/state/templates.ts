/** Labels of templates, and previews with sample values. */
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import Check from '@lucide/svelte/icons/check'
import Pencil from '@lucide/svelte/icons/pencil'
import type { Template, TemplateSummary } from '../../../appliance/api/templates.ts'
import {
  type MergeKind,
  type MergeValues,
  parseMerge,
  renderMerge,
  tagsOf,
} from '../../../appliance/merge/merge.ts'
import type { Look } from './status.ts'

/** Returns the label of a template: whether it is published, and has unpublished changes. */
export function ofTemplate(template: Pick<TemplateSummary, 'status' | 'has_unpublished_versions'>): Look {
  if (template.status === 'draft') return { word: 'draft', tone: 'slate', icon: CircleDashed }
  return template.has_unpublished_versions
    ? { word: 'published, with changes', tone: 'amber', icon: Pencil }
    : { word: 'published', tone: 'green', icon: Check }
}

export const TEMPLATE_STATUSES = [
  ['draft', 'Draft'],
  ['published', 'Published'],
] as const

export type Content = Pick<Template, 'subject' | 'html' | 'text' | 'variables'>

const SAMPLES: Record<string, string> = {
  FIRST_NAME: 'Ada',
  'contact.first_name': 'Ada',
  LAST_NAME: 'Lovelace',
  'contact.last_name': 'Lovelace',
  EMAIL: 'ada@example.com',
  'contact.email': 'ada@example.com',
}

/** Returns a sample value of a variable without a fallback. */
export const sampleValue = (key: string, type: 'string' | 'number'): string | number =>
  type === 'number' ? 1 : (SAMPLES[key] ?? `[${key}]`)

/** Returns sample values: fallbacks, fields of a sample contact, or the variable's name. */
function samplesOf(variables: Content['variables']): MergeValues {
  const fallbacks = new Map(variables.map((one) => [one.key, one.fallback_value?.toString() ?? null]))
  return (key) => ({ text: fallbacks.get(key) ?? SAMPLES[key] ?? `[${key}]`, fallback: null, raw: false })
}

/** Fills a source with sample values. A source with a syntax error is returned unchanged. */
export function sampled(kind: MergeKind, source: string, { variables }: Pick<Content, 'variables'>): string {
  try {
    return renderMerge(parseMerge(kind, source, kind), samplesOf(variables))
  } catch {
    // Saving reports the error.
    return source
  }
}

/** Returns names in merge tags that are neither declared variables nor contact fields. */
export function undeclared({ subject, html, text, variables }: Content): string[] {
  const known = new Set(variables.map(({ key }) => key))
  const keys = (['html', 'text', 'header'] as const).flatMap((kind, at) => {
    try {
      return tagsOf(parseMerge(kind, [html, text, subject][at] ?? '', kind)).map(({ key }) => key)
    } catch {
      return []
    }
  })
  return [...new Set(keys)].filter(
    (key) =>
      !known.has(key) && !key.startsWith('contact.') && !(key in SAMPLES) && !key.endsWith('UNSUBSCRIBE_URL'),
  )
}
