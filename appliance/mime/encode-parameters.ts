/** Parameters beyond ASCII, such as the name of a file, as RFC 2231 has them. Pure. */

/** Characters of one encoded piece of a value: with name and frame it keeps to a line. */
const PIECE = 54
const SPACE = /^[ \t\r\n]+|[ \t\r\n]+$/g

/** `attribute-char` of RFC 2231 §7. */
const PLAIN_OCTET = /[\w!#$&+\-.^`{|}~]/

/**
 * A field with parameters, such as Content-Disposition, with those beyond ASCII encoded; unchanged where that is not possible.
 * @param field an octet for each character, without its final CRLF
 * @param charset of the octets beyond ASCII
 */
export function encodeParameters(field: string, charset: string): string {
  const [value = '', ...given] = segmentsOf(field)
  const parameters = given.map(readParameter)
  const names = new Set(parameters.map(({ name }) => name.toLowerCase()))
  const written = parameters.flatMap((parameter) => {
    if (isPlain(parameter.segment)) return [`;${parameter.segment}`]
    // Some write a name twice: raw, and encoded for those who can read that.
    if (names.has(`${parameter.name.toLowerCase()}*`)) return []
    return encodeOne(parameter, charset) ?? [`;${parameter.segment}`]
  })
  return value + written.join('')
}

const isPlain = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** The text between semicolons; one within quotes is none. A quote without an end takes all that follows. */
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
  /** Null for what cannot be read. */
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

/** Undefined for one that cannot be encoded, or must be read by those who know nothing of encodings. */
function encodeOne({ name, value }: Parameter, charset: string): string[] | undefined {
  if (value === null || /^(?:boundary|charset)$/i.test(name)) return undefined
  if (name.endsWith('*')) {
    const escaped = value.replaceAll(/[^\0-\x7f]/g, (octet) => escape(octet.charCodeAt(0)))
    return [`;\r\n ${name}=${escaped}`]
  }
  // In pieces already, of which this is one.
  if (name.includes('*')) return undefined
  const pieces = piecesOf(Buffer.from(value, 'latin1'), charset)
  if (pieces.length === 1) return [`;\r\n ${name}*=${charset}''${pieces[0]!}`]
  return pieces.map((piece, at) => `;\r\n ${name}*${at}*=${at === 0 ? `${charset}''` : ''}${piece}`)
}

const escape = (octet: number): string => `%${octet.toString(16).toUpperCase().padStart(2, '0')}`

/** Pieces of whole characters: not every reader puts them together before it decodes them. */
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
