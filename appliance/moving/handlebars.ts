/** Converts the Handlebars tags of SES templates to the tags of templates here. Pure. */
import { RESERVED_KEYS } from '../mail/audience.ts'

/** A source with converted tags. */
export interface ConvertedHandlebars {
  text: string
  /** Variables that the template uses, by the name that they have in the source. */
  keys: Map<string, string>
  /** Tags that can't be converted, as they are in the source. */
  left: string[]
}

/** A name, or a path to a field such as `order.total`. */
const PATH = /^[A-Za-z_]\w*(\.\w+)*$/
const MAX_KEY = 50
/** Maximum number of characters of a tag that are shown. */
const SHOWN = 40

/**
 * Converts `{{name}}` to `{{{name}}}`, and `{{order.total}}` to `{{{order_total}}}`. Leaves blocks, helpers and
 * partials as they are: templates here have none. Removes comments.
 */
export function convertHandlebars(source: string): ConvertedHandlebars {
  const keys = new Map<string, string>()
  const left: string[] = []
  const text = source.replaceAll(/\{\{!--[^]*?--\}\}|\{\{\{?([^{}]*)\}?\}\}/g, (tag, inner?: string) => {
    const path = inner?.trim()
    if (path === undefined || path.startsWith('!')) return ''
    const key = keyOf(path)
    if (key === undefined) {
      left.push(tag.slice(0, SHOWN))
      // Triple braces would be a tag here.
      return tag.replace(/^\{+/, '{{').replace(/\}+$/, '}}')
    }
    keys.set(path, key)
    return `{{{${key}}}}`
  })
  return { text, keys, left }
}

/** Returns the variable that replaces a path; undefined if none can. */
function keyOf(path: string): string | undefined {
  if (!PATH.test(path) || path === 'else' || /^this\b/.test(path)) return undefined
  const key = path.replaceAll('.', '_')
  const free = (RESERVED_KEYS as readonly string[]).includes(key) ? `${key}_` : key
  return free.length > MAX_KEY ? undefined : free
}
