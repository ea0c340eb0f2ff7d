/**
 * Edits a transfer-encoded text (RFC 2045 §6) in place, so that everything else keeps its encoding. Texts are latin1:
 * one character per octet. Pure.
 */
import { encodeMimeBase64 as encodeBase64 } from '../mime/transfer.ts'
import type { Edit } from './rewrite.ts'

/** A decoded text that can be edited in its encoded form. */
export interface DecodedBody {
  text: string
  /** Applies the edits to the encoded text; undefined if a line would become too long for mail. */
  change(edits: readonly Edit[]): Buffer | undefined
}

/** Maximum line length of a message without CRLF (RFC 5322 §2.1.1), and of encoded text (RFC 2045 §6.7, §6.8). */
const LINE = 998
const ENCODED_LINE = 76

/** Decodes a body by its transfer encoding (in any case); undefined when the encoding is unknown. */
export function decodeBody(body: Buffer, encoding: string): DecodedBody | undefined {
  const known: Record<string, (body: Buffer) => DecodedBody> = {
    '7bit': identity,
    '8bit': identity,
    binary: identity,
    'quoted-printable': quotedPrintable,
    base64,
  }
  return known[encoding.trim().toLowerCase()]?.(body)
}

function apply(text: string, edits: readonly Edit[]): string {
  let [at, changed] = [0, '']
  for (const edit of edits) {
    changed += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return changed + text.slice(at)
}

function identity(body: Buffer): DecodedBody {
  const text = body.toString('latin1')
  return {
    text,
    change(edits) {
      const changed = apply(text, edits)
      return changed.split('\n').some((line) => line.length > LINE + 1)
        ? undefined
        : Buffer.from(changed, 'latin1')
    },
  }
}

function base64(body: Buffer): DecodedBody {
  const text = Buffer.from(body.toString('latin1'), 'base64').toString('latin1')
  const end = /[\r\n]*$/.exec(body.toString('latin1'))![0]
  return {
    text,
    change(edits) {
      return Buffer.from(encodeBase64(Buffer.from(apply(text, edits), 'latin1')) + end, 'latin1')
    },
  }
}

/** Decodes quoted-printable (RFC 2045 §6.7). `from[i]` is the body offset of octet `i` of the text. */
function quotedPrintable(body: Buffer): DecodedBody {
  const source = body.toString('latin1')
  const pieces: string[] = []
  const from: number[] = []
  // An escape, a soft line break, white space that a relay added to a line, or any octet.
  for (const match of source.matchAll(/=([0-9A-Fa-f]{2})|=[ \t]*\r\n|[ \t]+(?=\r\n)|[\s\S]/g)) {
    const [whole, hex] = match
    if (hex === undefined && whole.length > 1) continue
    if (hex === undefined && (whole === ' ' || whole === '\t') && source.startsWith('\r\n', match.index + 1))
      continue
    pieces.push(hex === undefined ? whole : String.fromCharCode(Number.parseInt(hex, 16)))
    from.push(match.index)
  }
  from.push(source.length)
  const inSource = ({ start, end, text }: Edit): Edit => ({
    start: from[start]!,
    end: end === start ? from[start]! : from[end]!,
    text: softly(text),
  })
  return {
    text: pieces.join(''),
    change: (edits) => Buffer.from(apply(source, edits.map(inSource)), 'latin1'),
  }
}

/** Formats ASCII text as separate lines that end with soft line breaks, which decoding removes. */
function softly(text: string): string {
  const lines = ['']
  for (const piece of text.replaceAll('=', '=3D').match(/=3D|[^=]/g) ?? []) {
    if (lines.at(-1)!.length + piece.length < ENCODED_LINE) lines[lines.length - 1] += piece
    else lines.push(piece)
  }
  return ['', ...lines, ''].join('=\r\n')
}
