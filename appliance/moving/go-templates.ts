/** Converts the Go template expressions of listmonk to the tags of broadcasts and templates here. Pure. */
import { derivePropertyKey } from './people.ts'

/** A source with converted tags. */
export interface ConvertedGoTemplate {
  text: string
  /** Variables of a transactional template. */
  keys: string[]
  /** Expressions that can't be converted, as they are in the source. */
  left: string[]
}

/** Maximum number of characters of an expression that are shown. */
const SHOWN = 60

const FIELDS: Record<string, string> = {
  '.Subscriber.Email': '{{{contact.email}}}',
  '.Subscriber.FirstName': '{{{contact.first_name}}}',
  '.Subscriber.LastName': '{{{contact.last_name}}}',
  '.Subscriber.Name': '{{{contact.first_name}}} {{{contact.last_name}}}',
  UnsubscribeURL: '{{{UNSUBSCRIBE_URL}}}',
  ManageURL: '{{{UNSUBSCRIBE_URL}}}',
  // Opens are tracked with the domain's settings.
  TrackView: '',
}

/** Converts fields of the subscriber, links and comments. Leaves conditions and functions as they are. */
export function convertGoTemplate(source: string): ConvertedGoTemplate {
  const keys = new Set<string>()
  const left: string[] = []
  const text = source
    .replaceAll(/(https?:\/\/[^\s"'<>@{}]+)@TrackLink/g, '$1')
    .replaceAll(/\{\{-?([^{}]*)-?\}\}(?:\?manage=true)?/g, (tag: string, inner: string) => {
      const converted = convert(inner.trim().replace(/\s+\.$/, ''), keys)
      if (converted === undefined) left.push(tag.slice(0, SHOWN))
      return converted ?? tag
    })
  return { text, keys: [...keys], left }
}

/** Returns the tag for an expression; undefined if there is none. */
function convert(expression: string, keys: Set<string>): string | undefined {
  if (Object.hasOwn(FIELDS, expression)) return FIELDS[expression]
  if (/^\/\*[^]*\*\/$/.test(expression)) return ''
  const link = /^TrackLink\s+["`]([^"`]+)["`]$/.exec(expression)?.[1]
  if (link !== undefined) return link
  const attribute = /^\.Subscriber\.Attribs\.(\w+)$/.exec(expression)?.[1]
  const property = attribute === undefined ? null : derivePropertyKey(attribute)
  if (property !== null) return `{{{contact.${property}}}}`
  const variable = /^\.Tx\.Data\.(\w+)$/.exec(expression)?.[1]
  const key = variable === undefined ? null : derivePropertyKey(variable)
  if (key === null) return undefined
  keys.add(key)
  return `{{{${key}}}}`
}
