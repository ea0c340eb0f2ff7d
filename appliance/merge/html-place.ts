/**
 * Determines where in HTML a tag is, and so how its value is escaped. A scanner modeled on the tokenizer of the HTML
 * standard (§13.2.5). Reads HTML once, from left to right, and never backtracks.
 */

/**
 * The context of a value.
 * text: between tags, in a quoted attribute or in a comment; five characters are escaped
 * unquoted: in an attribute without quotes; everything but letters and digits is escaped
 * link: at the beginning of a link, so the value decides where it leads
 * link_part: later in a link; the value is percent-encoded
 * code: in a style, a script, the name of a tag or attribute, or an event handler; the value keeps only harmless
 * characters
 */
export type HtmlContext = 'text' | 'unquoted' | 'link' | 'link_part' | 'code'

type Mode = 'data' | 'tag' | 'name' | 'equals' | 'value' | 'comment' | 'raw'

/** The state of the scanner. */
interface State {
  mode: Mode
  /** Name of the current or last element; empty for an end tag. */
  element: string
  /** Whether the scanner is still in that name. */
  naming: boolean
  /** Name of the attribute, followed by a space once it is complete. */
  attribute: string
  /** The character that ends the attribute's value; empty for a space. */
  quote: string
  /** The beginning of the attribute's value. */
  value: string
}

/** Attributes that hold one link. */
const LINKS = new Set([
  'href',
  'src',
  'action',
  'formaction',
  'background',
  'poster',
  'cite',
  'data',
  'longdesc',
  'xlink:href',
  'srcset',
  'ping',
  'manifest',
])
/**
 * Elements whose content can't be made safe by escaping. The text of `title` and `textarea` is treated like any other.
 */
const RAW = new Set(['script', 'style', 'xmp', 'iframe', 'noembed', 'noframes', 'plaintext'])

/** Outlook reads the content of conditional comments, so it is treated as HTML. */
const CONDITION = /^<!--\[if [^\]<>]{0,100}\]>(?:<!-->)?/i

/** Appends a character to a name or value. Only the beginning is needed. */
const grown = (text: string, char: string): string => (text.length < 100 ? text + char.toLowerCase() : text)

const isSpace = (char: string): boolean => /[\t\n\f\r ]/.test(char)

export interface HtmlScanner {
  /** Reads the next piece of the source. */
  read(piece: string): void
  /** Returns the context of a tag at the current position. The tag counts as read. */
  place(): HtmlContext
}

/** Creates a scanner at the beginning of a document. */
export function createHtmlScanner(): HtmlScanner {
  const state: State = { mode: 'data', element: '', naming: false, attribute: '', quote: '', value: '' }
  return {
    read(piece) {
      for (let at = 0; at < piece.length;) at = step(state, piece, at)
    },
    place() {
      if (state.mode === 'equals') Object.assign(state, { mode: 'value', quote: '' })
      if (state.mode === 'data' || state.mode === 'comment') return 'text'
      if (state.mode !== 'value') return 'code'
      const place = placeOfValue(state)
      state.value += '*'
      return place
    },
  }
}

function placeOfValue({ attribute, quote, value }: State): HtmlContext {
  const name = attribute.trimEnd()
  if (name.startsWith('on') || name === 'style' || name === 'srcdoc') return 'code'
  if (!LINKS.has(name)) return quote === '' ? 'unquoted' : 'text'
  return value.trim() === '' ? 'link' : 'link_part'
}

/** Reads one step from `at`, and returns where to continue. */
function step(state: State, source: string, at: number): number {
  if (state.mode === 'data') return readData(state, source, at)
  if (state.mode === 'comment') return readComment(state, source, at)
  if (state.mode === 'raw') return readRaw(state, source, at)
  const char = source[at]!
  if (state.mode === 'tag') readTag(state, char)
  else if (state.mode === 'name') readName(state, char)
  else if (state.mode === 'equals') readEquals(state, char)
  else readValue(state, char)
  return at + 1
}

function readData(state: State, source: string, from: number): number {
  const at = source.indexOf('<', from)
  if (at === -1) return source.length
  if (source.startsWith('<!--', at)) {
    const condition = CONDITION.exec(source.slice(at, at + 120))
    if (condition) return at + condition[0].length
    state.mode = 'comment'
    // `<!-->` is a complete comment.
    return at + 2
  }
  const next = source[at + 1]
  if (next === undefined || /[A-Za-z/!?]/.test(next))
    Object.assign(state, { mode: 'tag', element: '', naming: true })
  return at + 1
}

function readComment(state: State, source: string, from: number): number {
  const end = source.indexOf('-->', from)
  if (end === -1) return source.length
  state.mode = 'data'
  return end + 3
}

/** Reads raw text up to the end tag of its element. */
function readRaw(state: State, source: string, from: number): number {
  const { element } = state
  for (let at = source.indexOf('</', from); at !== -1; at = source.indexOf('</', at + 2)) {
    const name = source.slice(at + 2, at + 2 + element.length)
    if (name.toLowerCase() !== element) continue
    Object.assign(state, { mode: 'tag', element: '', naming: false })
    return at + 2 + name.length
  }
  return source.length
}

function endTag(state: State): void {
  state.mode = RAW.has(state.element) ? 'raw' : 'data'
}

function readTag(state: State, char: string): void {
  if (char === '>') endTag(state)
  else if (isSpace(char) || char === '/') state.naming = false
  else if (state.naming) state.element = grown(state.element, char)
  else Object.assign(state, { mode: 'name', attribute: char.toLowerCase() })
}

function readName(state: State, char: string): void {
  const { attribute } = state
  if (char === '>') endTag(state)
  else if (char === '=') Object.assign(state, { mode: 'equals', value: '' })
  else if (char === '/') state.mode = 'tag'
  else if (isSpace(char)) state.attribute = `${attribute.trimEnd()} `
  else state.attribute = attribute.endsWith(' ') ? char.toLowerCase() : grown(attribute, char)
}

function readEquals(state: State, char: string): void {
  if (isSpace(char)) return
  if (char === '>') return endTag(state)
  const quoted = char === '"' || char === "'"
  Object.assign(state, { mode: 'value', quote: quoted ? char : '', value: quoted ? '' : char })
}

function readValue(state: State, char: string): void {
  const { quote } = state
  if (quote === '' ? isSpace(char) : char === quote) state.mode = 'tag'
  else if (quote === '' && char === '>') endTag(state)
  else state.value = grown(state.value, char)
}
