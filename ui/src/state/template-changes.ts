/** Differences between two versions of a template, apart from their HTML. Pure. */
import type { Template } from '../../../appliance/api/templates.ts'

type Version = Pick<Template, 'from' | 'subject' | 'reply_to' | 'text' | 'variables'>

/** A changed field, with both values as text; an empty text means no value. */
export interface ChangedField {
  name: string
  before: string
  after: string
}

const variablesOf = ({ variables }: Version): string =>
  variables
    .map(({ key, type, fallback_value: fallback }) =>
      fallback === null ? `${key} (${type}, required)` : `${key} (${type}, fallback “${fallback}”)`,
    )
    .toSorted()
    .join(', ')

const FIELDS: readonly (readonly [string, (version: Version) => string])[] = [
  ['Subject', ({ subject }) => subject ?? ''],
  ['From', ({ from }) => from ?? ''],
  ['Reply to', ({ reply_to: replyTo }) => replyTo?.join(', ') ?? ''],
  ['Variables', variablesOf],
  ['Plain text', ({ text }) => text ?? 'generated from the HTML'],
]

/** Lists the fields that differ. */
export const listChangedFields = (before: Version, after: Version): ChangedField[] =>
  FIELDS.map(([name, of]) => ({ name, before: of(before), after: of(after) })).filter(
    (one) => one.before !== one.after,
  )
