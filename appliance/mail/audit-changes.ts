/** Describes what an action changed: "changed TLS of acme.com from opportunistic to enforced". Pure. */

/** An action: in the past tense, as an infinitive without "to", and its object. */
export type Phrase = readonly [past: string, bare: string, object: string]

type Fields = Record<string, unknown>

/** Fields that change as a consequence or by themselves. */
const INCIDENTAL = [
  'activity',
  'changed',
  'checked_at',
  'checks',
  'failing_since',
  'records',
  'state_reason',
  'updated_at',
]

/** Maximum length of a value that a sentence quotes, in characters. */
const LONGEST_VALUE = 60
/** Maximum number of changes that a sentence names. */
const MOST_NAMED = 3

/** Display names of fields whose plain name isn't suitable. */
const LABELS: Record<string, string> = { tls: 'TLS', mx: 'MX', hostname: 'the hostname' }

const labelOf = (name: string): string => LABELS[name] ?? name.replaceAll('_', ' ')

/**
 * Returns the phrase for an action that changed settings.
 * @param about the object of the settings, in words
 */
export function buildChangePhrase(
  { before, after, details }: { before: Fields; after: Fields; details: Fields },
  about: string,
): Phrase {
  const differing = Object.keys(after).filter(
    (name) => !INCIDENTAL.includes(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  const requested = differing.filter((name) => name in details)
  const changed = requested.length > 0 ? requested : differing
  const [first, ...others] = 'refused' in after ? [] : changed
  if (first === undefined) return ['changed', 'change', `settings of ${about}`]
  if (others.length > 0) return ['changed', 'change', `${listed(changed)} of ${about}`]
  return valuePhrase(labelOf(first), { from: before[first], to: after[first] }, about)
}

function valuePhrase(label: string, { from, to }: { from: unknown; to: unknown }, about: string): Phrase {
  if (to === true) return ['turned on', 'turn on', `${label} for ${about}`]
  if (to === false) return ['turned off', 'turn off', `${label} for ${about}`]
  const [was, is] = [valueOf(from), valueOf(to)]
  const values = is === undefined ? '' : was === undefined ? ` to ${is}` : ` from ${was} to ${is}`
  return ['changed', 'change', `${label} of ${about}${values}`]
}

/** Formats a value; undefined when it isn't a short text. */
function valueOf(value: unknown): string | undefined {
  if (value === null) return 'none'
  if (typeof value === 'number') return value.toLocaleString('en')
  return typeof value === 'string' && value.length <= LONGEST_VALUE ? value : undefined
}

function listed(names: readonly string[]): string {
  const labels = names.map(labelOf)
  if (labels.length > MOST_NAMED)
    return `${labels.slice(0, 2).join(', ')} and ${labels.length - 2} more settings`
  return `${labels.slice(0, -1).join(', ')} and ${labels.at(-1)}`
}
