/** Pieces of HTML as strings: escaping, styles, and the tables that layouts are made of. */

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** A text as it stands in HTML and in attributes in double quotes. Braces of merge tags stay. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!)

/** Declarations of a style attribute; those without a value are left out. */
export function css(declarations: Record<string, string | number | null>): string {
  const parts = Object.entries(declarations).flatMap(([name, value]) =>
    value === null ? [] : [`${name}:${value}`],
  )
  return parts.join(';')
}

type Attributes = Record<string, string | number | null>

/** An element; attributes without a value are left out, and values are escaped. Elements without content are closed at once. */
export function element(name: string, attributes: Attributes, content: string | null = null): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => ` ${key}="${escapeHtml(String(value))}"`)
    .join('')
  return content === null ? `<${name}${written} />` : `<${name}${written}>${content}</${name}>`
}

const LAYOUT = { role: 'presentation', cellpadding: 0, cellspacing: 0, border: 0 }

/** A table that only lays out, of one cell. */
export const box = (table: Attributes, cell: Attributes, content: string): string =>
  element('table', { ...LAYOUT, ...table }, `<tr>${element('td', cell, content)}</tr>`)

/** What only Outlook for Windows reads, which draws with the engine of Word. */
export const forWord = (content: string): string => `<!--[if mso]>${content}<![endif]-->`

/** What all other readers read. */
export const forOthers = (content: string): string => `<!--[if !mso]><!-->${content}<!--<![endif]-->`

/** The start of a table for Word, which knows no `max-width`. @param cell attributes of its first cell */
export const wordTable = (table: Attributes, cell: Attributes): string =>
  forWord(
    element('table', { ...LAYOUT, ...table }, `<tr>${element('td', cell, '')}`).slice(
      0,
      -'</td></table>'.length,
    ),
  )

export const wordNextCell = (cell: Attributes): string =>
  forWord(`</td>${element('td', cell, '').slice(0, -'</td>'.length)}`)

export const wordTableEnd = forWord('</td></tr></table>')
