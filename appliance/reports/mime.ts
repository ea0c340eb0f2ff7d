/** Builds MIME parts for reports (RFC 2045, RFC 2046). Pure. */
import { isAscii } from 'node:buffer'
import { encodeMimeBase64, encodeText } from '../mime/transfer.ts'

/** A body part: its header fields without transfer encoding, and its encoded bytes with CRLF line ends. */
export interface Part {
  header: string[]
  encoding: '7bit' | '8bit' | 'quoted-printable' | 'base64'
  body: Uint8Array
}

/** Returns 7bit or 8bit, depending on the bytes. Lines must have at most 998 octets. */
export function choosePlainEncoding(body: Uint8Array): '7bit' | '8bit' {
  return isAscii(body) ? '7bit' : '8bit'
}

/**
 * Builds a text part.
 * @param text lines end with LF
 */
export function buildTextPart(description: string, text: string): Part {
  const { encoding, body } = encodeText(text.replaceAll('\n', '\r\n'))
  return {
    header: ['Content-Type: text/plain; charset=utf-8', `Content-Description: ${description}`],
    encoding,
    body: Buffer.from(body),
  }
}

/** Builds a base64 part from any bytes (RFC 2045 §6.8). */
export function buildBinaryPart(header: string[], bytes: Uint8Array): Part {
  return { header, encoding: 'base64', body: Buffer.from(encodeMimeBase64(Buffer.from(bytes))) }
}

/** Builds a multipart message with the widest transfer encoding of its parts (RFC 2045 §6.4). */
export function buildMultipart(message: {
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
