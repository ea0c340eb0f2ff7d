/** Previews of templates with sample values, and descriptions of what uses a template. Pure. */
import type { Template, TemplateSummary } from '../../../appliance/api/templates.ts'
import {
  ARCHIVE_KEY,
  type MergeKind,
  type MergeValues,
  parseMerge,
  renderMerge,
  listTags,
} from '../../../appliance/merge/merge.ts'

/** The server stops counting uses of each kind at this number. */
const MOST_USES = 10_000

/** Describes what uses a template, such as `1,204 emails in 30 days` and `2 automations`. */
export function describeTemplateUses({
  emails,
  automations,
  drafts,
}: Pick<TemplateSummary, 'emails' | 'automations' | 'drafts'>): string[] {
  const many = (n: number, one: string) =>
    n === 1 ? `1 ${one}` : `${n.toLocaleString('en')}${n >= MOST_USES ? '+' : ''} ${one}s`
  return [
    ...(emails > 0 ? [`${many(emails, 'email')} in 30 days`] : []),
    ...(automations > 0 ? [many(automations, 'automation')] : []),
    ...(drafts > 0 ? [many(drafts, 'draft')] : []),
  ]
}

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
export const getSampleValue = (key: string, type: 'string' | 'number'): string | number =>
  type === 'number' ? 1 : (SAMPLES[key] ?? `[${key}]`)

/** Returns sample values: fallbacks, fields of a sample contact, or the variable's name. */
function samplesOf(variables: Content['variables']): MergeValues {
  const fallbacks = new Map(variables.map((one) => [one.key, one.fallback_value?.toString() ?? null]))
  return (key) => ({ text: fallbacks.get(key) ?? SAMPLES[key] ?? `[${key}]`, fallback: null, raw: false })
}

/** Fills a source with sample values. Returns a source with a syntax error unchanged. */
export function fillSampleValues(
  kind: MergeKind,
  source: string,
  { variables }: Pick<Content, 'variables'>,
): string {
  try {
    return renderMerge(parseMerge(kind, source, kind), samplesOf(variables))
  } catch {
    // Saving reports the error.
    return source
  }
}

/** Returns the names in merge tags that are neither declared variables nor contact fields. */
export function findUndeclaredNames({ subject, html, text, variables }: Content): string[] {
  const known = new Set(variables.map(({ key }) => key))
  const keys = (['html', 'text', 'header'] as const).flatMap((kind, at) => {
    try {
      return listTags(parseMerge(kind, [html, text, subject][at] ?? '', kind)).map(({ key }) => key)
    } catch {
      return []
    }
  })
  return [...new Set(keys)].filter(
    (key) =>
      !known.has(key) &&
      !key.startsWith('contact.') &&
      !(key in SAMPLES) &&
      !key.endsWith('UNSUBSCRIBE_URL') &&
      key !== ARCHIVE_KEY,
  )
}
