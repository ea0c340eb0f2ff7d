/** Extracts the human-readable text of a message: its first text part, or the text that a browser would show. Pure. */
import { decodeText, type Part, type ParsedMessage } from './parts.ts'

/** Returns the text of a message; empty if it has none. */
export function extractText({ parts }: ParsedMessage): string {
  const plain = parts.find((part) => part.type === 'text/plain' && isSaid(part))
  const text = plain ? decodeText(plain) : ''
  if (text.trim() !== '') return text
  const html = parts.find((part) => part.type === 'text/html' && isSaid(part))
  return html ? fromHtml(decodeText(html)) : text
}

/** Reports whether a part is not an attachment (RFC 2183 §2). */
function isSaid({ fields }: Part): boolean {
  return !fields.some(
    ({ name, raw }) =>
      name.toLowerCase() === 'content-disposition' &&
      /^content-disposition\s?:\s{0,20}attachment/i.test(Buffer.from(raw).toString('latin1', 0, 100)),
  )
}

const NAMED: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  nbsp: ' ',
  apos: "'",
}

/**
 * Converts HTML to text: line breaks at block ends, no tags, and the few character references that reports use. The
 * result is never shown.
 */
function fromHtml(html: string): string {
  return html
    .replaceAll(/<(?:br|\/p|\/div|\/tr|\/h\d|\/li|\/td|p|div|tr)\b[^<>]{0,500}>/gi, '\n')
    .replaceAll(/<[a-z/!][^<>]{0,2000}>/gi, '')
    .replaceAll(
      /&(?:#(\d{1,5})|([a-z]{2,4}));/gi,
      (whole, digits: string | undefined, name: string | undefined) =>
        digits === undefined ? (NAMED[name!.toLowerCase()] ?? whole) : String.fromCharCode(Number(digits)),
    )
    .replaceAll(/[ \t]{2,100}/g, ' ')
    .replaceAll(/^ /gm, '')
}
