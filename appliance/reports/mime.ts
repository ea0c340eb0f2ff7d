/** MIME as far as a report needs it (RFC 2045, RFC 2046). Pure. */
import { isAscii } from 'node:buffer'

/** A body part: its header fields without transfer encoding, and its bytes, encoded already, with CRLF line ends. */
export interface Part {
  header: string[]
  encoding: '7bit' | '8bit' | 'quoted-printable' | 'base64'
  body: Uint8Array
}

/** 7bit or 8bit, as the bytes are; they must have lines of at most 998 octets. */
export function plainEncoding(body: Uint8Array): '7bit' | '8bit' {
  return isAscii(body) ? '7bit' : '8bit'
}

/** A text part for people. @param text lines end with LF */
export function textPart(description: string, text: string): Part {
  const crlf = text.replaceAll('\n', '\r\n')
  const plain = /^[\0-\x7f]*$/.test(crlf) && !/[^\r\n]{999}/.test(crlf)
  return {
    header: ['Content-Type: text/plain; charset=utf-8', `Content-Description: ${description}`],
    encoding: plain ? '7bit' : 'quoted-printable',
    body: Buffer.from(plain ? crlf : quotedPrintable(Buffer.from(crlf))),
  }
}

/** Bytes of any kind as a part (RFC 2045 §6.8). */
export function binaryPart(header: string[], bytes: Uint8Array): Part {
  const base64 = Buffer.from(bytes).toString('base64')
  const lines = base64.match(/.{1,76}/g) ?? []
  return { header, encoding: 'base64', body: Buffer.from(lines.join('\r\n')) }
}

/** A whole multipart message. Its own encoding is the widest of its parts (RFC 2045 §6.4). */
export function multipart(message: {
  header: string[]
  boundary: string
  type: string
  parts: Part[]
}): Uint8Array {
  const { header, boundary, type, parts } = message
  const encoding = parts.some((part) => part.encoding === '8bit') ? '8bit' : '7bit'
  const lines = (fields: string[]): Buffer => Buffer.from(fields.map((field) => `${field}\r\n`).join(''))
  return Buffer.concat([
    lines([
      ...header,
      'MIME-Version: 1.0',
      `Content-Type: ${type};\r\n boundary="${boundary}"`,
      `Content-Transfer-Encoding: ${encoding}`,
      '',
    ]),
    ...parts.flatMap((part) => [
      lines([`--${boundary}`, ...part.header, `Content-Transfer-Encoding: ${part.encoding}`, '']),
      part.body,
      Buffer.from('\r\n'),
    ]),
    lines([`--${boundary}--`]),
  ])
}

/** A header field folded at spaces to lines of 76 octets where it has them, and of 900 at most (RFC 5322 §2.1.1, §2.2.3). */
export function fold(name: string, value: string): string {
  const lines: string[] = []
  let line = `${name}:`
  for (const word of value.split(/[ \t\r\n]+/).flatMap((word) => word.match(/.{1,900}/gs) ?? [])) {
    if (line.length + 1 + word.length > 76 && line.trim() !== '' && line !== `${name}:`) {
      lines.push(line)
      line = ''
    }
    line += ` ${word}`
  }
  return [...lines, line].join('\r\n')
}

/** RFC 2045 §6.7. @param body lines end with CRLF */
export function quotedPrintable(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    .toString('latin1') // one character for each octet
    .split('\r\n')
    .map((line) => {
      const octets = Array.from(line, (char, at) => octet(char.charCodeAt(0), at === line.length - 1))
      return softBreaks(octets)
    })
    .join('\r\n')
}

function octet(byte: number, last: boolean): string {
  const blank = byte === 0x20 || byte === 0x09
  if (blank ? !last : byte > 0x20 && byte < 0x7f && byte !== 0x3d) return String.fromCharCode(byte)
  return `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

/** Lines of at most 76 characters, the `=` of the soft break among them. */
function softBreaks(octets: string[]): string {
  const lines = ['']
  for (const octet of octets) {
    if (lines.at(-1)!.length + octet.length > 75) lines.push('')
    lines[lines.length - 1] += octet
  }
  return lines.join('=\r\n')
}
