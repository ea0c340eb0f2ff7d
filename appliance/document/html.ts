/** Builds HTML strings: escaping, styles, and layout tables. */

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes a text for HTML and for attributes in double quotes. Keeps the braces of merge tags. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!)

/** Formats a style attribute, without declarations that have no value. */
export function formatStyle(declarations: Record<string, string | number | null>): string {
  const parts = Object.entries(declarations).flatMap(([name, value]) =>
    value === null ? [] : [`${name}:${value}`],
  )
  return parts.join(';')
}

type Attributes = Record<string, string | number | null>

/**
 * Formats an element. Escapes attribute values and omits attributes without a value. Elements without content are
 * self-closing.
 */
export function element(name: string, attributes: Attributes, content: string | null = null): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => ` ${key}="${escapeHtml(String(value))}"`)
    .join('')
  return content === null ? `<${name}${written} />` : `<${name}${written}>${content}</${name}>`
}

const LAYOUT = { role: 'presentation', cellpadding: 0, cellspacing: 0, border: 0 }

/** Formats a layout table with one cell. */
export const renderLayoutBox = (table: Attributes, cell: Attributes, content: string): string =>
  element('table', { ...LAYOUT, ...table }, `<tr>${element('td', cell, content)}</tr>`)

/** Wraps content for Outlook for Windows, which renders with Word. */
export const wrapForWord = (content: string): string => `<!--[if mso]>${content}<![endif]-->`

/** Wraps content for all other readers. */
export const wrapForOthers = (content: string): string => `<!--[if !mso]><!-->${content}<!--<![endif]-->`

/**
 * Formats the start of a table for Word, which doesn't support `max-width`.
 * @param cell attributes of its first cell
 */
export const openWordTable = (table: Attributes, cell: Attributes): string =>
  wrapForWord(
    element('table', { ...LAYOUT, ...table }, `<tr>${element('td', cell, '')}`).slice(
      0,
      -'</td></table>'.length,
    ),
  )

export const openNextWordCell = (cell: Attributes): string =>
  wrapForWord(`</td>${element('td', cell, '').slice(0, -'</td>'.length)}`)

export const wordTableEnd = wrapForWord('</td></tr></table>')
