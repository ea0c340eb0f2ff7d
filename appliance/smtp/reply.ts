/** Formats replies (RFC 5321 §4.2), with enhanced status codes (RFC 2034). Pure. */
import type { Refusal } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'

/** Maximum length of the text in a reply line: 512 octets minus code, enhanced code and CRLF (RFC 5321 §4.5.3.1.5). */
const MAX_TEXT = 480
const PRINTABLE = /^[ -~]*$/

/** @param enhanced null for the greeting, EHLO, 334 and 354, which have none (RFC 2034 §4) */
export function createReply(code: number, enhanced: string | null, text: string): Reply {
  return { code, enhanced, text }
}

/** Formats a refusal as a reply, with the codes of the catalog. */
export function formatRefusal({ smtp, message }: Refusal): Reply {
  const [code, enhanced] = smtp.split(' ')
  return createReply(Number(code), enhanced ?? null, message)
}

/**
 * Formats a reply for the wire: one reply line per line of text, split if too long, in ASCII without control
 * characters.
 */
export function encodeReply({ code, enhanced, text }: Reply): string {
  const prefix = enhanced === null ? '' : `${enhanced} `
  if (text.length <= MAX_TEXT && PRINTABLE.test(text)) return `${code} ${prefix}${text}\r\n`
  const lines = text.split('\n').flatMap(breakLine)
  return lines.map((line, at) => `${code}${at === lines.length - 1 ? ' ' : '-'}${prefix}${line}\r\n`).join('')
}

function breakLine(line: string): string[] {
  const ascii = line.replaceAll(/[^ -~]/g, '?')
  const parts: string[] = []
  let rest = ascii
  while (rest.length > MAX_TEXT) {
    const space = rest.lastIndexOf(' ', MAX_TEXT)
    const end = space > 0 ? space : MAX_TEXT
    parts.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...parts, rest]
}
