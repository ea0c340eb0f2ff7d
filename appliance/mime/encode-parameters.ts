/** Encodes non-ASCII parameters, such as filenames (RFC 2231). Pure. */

/** Characters in one section of a value, so that it fits on a line with its name and quotes (RFC 2231 §3). */
const PIECE = 54
const SPACE = /^[ \t\r\n]+|[ \t\r\n]+$/g

/** `attribute-char` of RFC 2231 §7. */
const PLAIN_OCTET = /[\w!#$&+\-.^`{|}~]/

/**
 * Encodes the non-ASCII parameters of a field such as Content-Disposition; returns the field unchanged when that isn't
 * possible.
 * @param field one character per octet, without its final CRLF
 * @param charset of the non-ASCII octets
 */
export function encodeParameters(field: string, charset: string): string {
  const [value = '', ...given] = segmentsOf(field)
  const parameters = given.map(readParameter)
  const names = new Set(parameters.map(({ name }) => name.toLowerCase()))
  const written = parameters.flatMap((parameter) => {
    if (isPlain(parameter.segment)) return [`;${parameter.segment}`]
    // Some programs write a name twice: raw, and encoded for readers that support it.
    if (names.has(`${parameter.name.toLowerCase()}*`)) return []
    return encodeOne(parameter, charset) ?? [`;${parameter.segment}`]
  })
  return value + written.join('')
}

const isPlain = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** Splits a field at semicolons outside quotes. An unterminated quote extends to the end. */
function segmentsOf(field: string): string[] {
  const segments = ['']
  for (const [token] of field.matchAll(/"(?:[^"\\]|\\[^])*(?:"|$)|;|[^";]+|[^]/g)) {
    if (token === ';') segments.push('')
    else segments[segments.length - 1] += token
  }
  return segments
}

interface Parameter {
  segment: string
  name: string
  /** The value; null when it can't be parsed. */
  value: string | null
}

function readParameter(segment: string): Parameter {
  const equals = segment.indexOf('=')
  const name = segment.slice(0, Math.max(0, equals)).replaceAll(SPACE, '')
  const text = segment.slice(equals + 1).replaceAll(SPACE, '')
  const quoted = text.length > 1 && text.startsWith('"') && text.endsWith('"')
  const value = quoted ? text.slice(1, -1).replaceAll(/\\([^])/g, '$1') : text
  const sound = /^[\w!#$&+\-.^`{|}~*]+$/.test(name) && (quoted || !text.includes('"'))
  return { segment, name, value: sound ? value.replaceAll('\r\n', '') : null }
}

/**
 * Encodes a parameter. Undefined when it can't be encoded, or must stay readable for programs that don't know
 * encodings.
 */
function encodeOne({ name, value }: Parameter, charset: string): string[] | undefined {
  if (value === null || /^(?:boundary|charset)$/i.test(name)) return undefined
  if (name.endsWith('*')) {
    const escaped = value.replaceAll(/[^\0-\x7f]/g, (octet) => escape(octet.charCodeAt(0)))
    return [`;\r\n ${name}=${escaped}`]
  }
  // Already split into sections (RFC 2231 §3).
  if (name.includes('*')) return undefined
  const pieces = piecesOf(Buffer.from(value, 'latin1'), charset)
  if (pieces.length === 1) return [`;\r\n ${name}*=${charset}''${pieces[0]!}`]
  return pieces.map((piece, at) => `;\r\n ${name}*${at}*=${at === 0 ? `${charset}''` : ''}${piece}`)
}

const escape = (octet: number): string => `%${octet.toString(16).toUpperCase().padStart(2, '0')}`

/** Splits octets between characters, because some readers decode each section by itself. */
function piecesOf(octets: Buffer, charset: string): string[] {
  const characters = charset === 'utf-8' ? [...octets.toString('utf8')] : [...octets.toString('latin1')]
  const pieces = ['']
  for (const character of characters) {
    const encoded = [...Buffer.from(character, charset === 'utf-8' ? 'utf8' : 'latin1')]
      .map((octet) =>
        octet < 128 && PLAIN_OCTET.test(String.fromCharCode(octet))
          ? String.fromCharCode(octet)
          : escape(octet),
      )
      .join('')
    if (pieces.at(-1)!.length + encoded.length > PIECE) pieces.push('')
    pieces[pieces.length - 1] += encoded
  }
  return pieces
}
