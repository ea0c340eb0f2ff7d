/**
 * Parses the XML of a DMARC report into texts by element: no document type, no custom entities, bounded depth and
 * sizes. Pure.
 */
import { Parser } from 'htmlparser2'
import { decodeCharset } from './parts.ts'
import type { ReportProblem } from './unpack.ts'

export interface ElementReader {
  /**
   * Called when an element begins. `parent` is the enclosing element, empty for the root. Names have no prefix and are
   * in lower case.
   */
  open(name: string, parent: string): void
  /** Called when an element ends; `text` is its own text, trimmed. */
  close(name: string, parent: string, text: string): void
}

/** RFC 9990's schema has 5 levels. One sender opens an `xs:schema` in front and never closes it. */
const MAX_DEPTH = 16
const MAX_TEXT = 4096
/** Characters passed to the parser at once. */
const PIECE = 64 * 1024

class Refused extends Error {}

/** Parses a document and returns the problem, or null. The parser repairs unclosed and misnested elements. */
export function parseElements(bytes: Uint8Array, reader: ElementReader): ReportProblem | null {
  const names: string[] = []
  const texts: string[] = []
  const parser = new Parser(
    {
      onopentag(name) {
        if (names.length >= MAX_DEPTH) throw new Refused()
        reader.open(localName(name), names.at(-1) ?? '')
        names.push(localName(name))
        texts.push('')
      },
      ontext(text) {
        const own = texts.at(-1)
        if (own !== undefined && own.length < MAX_TEXT)
          texts[texts.length - 1] = (own + text).slice(0, MAX_TEXT)
      },
      onclosetag() {
        const name = names.pop() ?? ''
        reader.close(name, names.at(-1) ?? '', clean(texts.pop() ?? ''))
      },
      onprocessinginstruction(name) {
        // A document type may define entities. Only the XML declaration is allowed.
        if (name.toLowerCase() !== '?xml') throw new Refused()
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  try {
    const text = decodeXml(bytes)
    for (let at = 0; at < text.length; at += PIECE) parser.write(text.slice(at, at + PIECE))
    parser.end()
    return null
  } catch (error) {
    if (error instanceof Refused) return 'dangerous'
    throw error
  }
}

const localName = (name: string): string => name.slice(name.lastIndexOf(':') + 1, 200).toLowerCase()

/** Collapses whitespace and control characters to one line. */
const clean = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()

/** Decodes XML by its byte order mark, else its declaration, else as UTF-8 (XML 1.0 Appendix F). */
function decodeXml(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  const start = Buffer.from(bytes.subarray(0, 200)).toString('latin1')
  const declared =
    /^\s{0,100}<\?xml[^>]{0,100}encoding=["']([\w-]{1,40})["']/i.exec(start)?.[1]?.toLowerCase() ?? ''
  return decodeCharset(bytes, /^utf-?(?:8|16)/.test(declared) ? '' : declared)
}
