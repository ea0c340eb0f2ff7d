/** What the server says (RFC 5321 §4.2), with enhanced codes where RFC 2034 wants them. Pure. */
import type { Refusal } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'

/** Text of one reply line: 512 octets less code, enhanced code and CRLF (RFC 5321 §4.5.3.1.5). */
const MAX_TEXT = 480
const PRINTABLE = /^[ -~]*$/

/** @param enhanced null for greetings, EHLO, 334, 354: RFC 2034 §4 gives them none */
export function reply(code: number, enhanced: string | null, text: string): Reply {
  return { code, enhanced, text }
}

/** A refusal with the codes of the catalogue. */
export function refusalReply({ smtp, message }: Refusal): Reply {
  const [code, enhanced] = smtp.split(' ')
  return reply(Number(code), enhanced ?? null, message)
}

/** A reply as it goes over the wire: a line for each line of its text, long ones broken, ASCII without controls. */
export function writeReply({ code, enhanced, text }: Reply): string {
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
