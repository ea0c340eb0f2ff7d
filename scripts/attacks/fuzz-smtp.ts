/** Generates SMTP commands and messages for the fuzzer. */
import type { Batch } from './fuzz-http.ts'
import { corruptBytes, chance, pickRandomItem, randomText } from './noise.ts'
import type { RandomGenerator } from '../../appliance/crashtest/plan.ts'

const LINES = [
  'EHLO client.example',
  'HELO client.example',
  'LHLO x',
  'NOOP',
  'NOOP x',
  'RSET',
  'HELP',
  'VRFY ada',
  'EXPN list',
  'MAIL FROM:<app@one.example>',
  'MAIL FROM:<>',
  'MAIL FROM:<app@one.example> SIZE=10 BODY=8BITMIME SMTPUTF8',
  'MAIL FROM:<app@one.example> RET=FULL ENVID=x',
  'MAIL FROM:<@a,@b:app@one.example>',
  'MAIL FROM:<"a b"@one.example>',
  'RCPT TO:<ada@customer.example>',
  'RCPT TO:<ada@customer.example> NOTIFY=NEVER',
  'RCPT TO:<ada@[127.0.0.1]>',
  'RCPT TO:<postmaster>',
  'AUTH',
  'AUTH PLAIN',
  'AUTH PLAIN AHAAeA==',
  'AUTH LOGIN',
  'AUTH XOAUTH2 e30=',
  'STARTTLS x',
  'DATA x',
  'BDAT',
  'BDAT x',
  'BDAT 0',
  'BDAT 3 LASTabc',
  'ETRN a',
  'TURN',
  'XCLIENT ADDR=127.0.0.1',
  'BURL x',
]
/** Maximum number of lines in a batch. */
const MOST = 30

/** Generates the next command lines, at most `left`. The daemon must reply to each or close the connection. */
export function generateLineBatch(dice: RandomGenerator, left: number): Batch {
  const count = Math.min(left, dice.between(1, MOST))
  const lines = Array.from({ length: count }, () => Buffer.concat([lineOf(dice), Buffer.from('\r\n')]))
  return { octets: Buffer.concat(lines), count, tidy: false }
}

function lineOf(dice: RandomGenerator): Buffer {
  const kind = dice.between(0, 9)
  if (kind < 5) return Buffer.from(pickRandomItem(dice, LINES))
  if (kind < 7) return corruptBytes(dice, Buffer.from(pickRandomItem(dice, LINES)))
  if (kind < 9) return Buffer.from(`${pickRandomItem(dice, LINES)}${randomText(dice)}`)
  return Buffer.from(Array.from({ length: dice.between(0, 600) }, () => dice.between(0, 255)))
}

const FIELDS = [
  'From',
  'To',
  'Cc',
  'Subject',
  'Date',
  'Message-ID',
  'Reply-To',
  'Sender',
  'Received',
  'DKIM-Signature',
  'X-Tag',
  'List-Unsubscribe',
  'In-Reply-To',
  'Content-Disposition',
  '',
  'A b',
  'X'.repeat(80),
]
const TYPES = [
  'text/plain; charset=utf-8',
  'text/html',
  'multipart/mixed; boundary=b',
  'multipart/alternative; boundary="b"',
  'message/rfc822',
  'multipart/mixed',
  'text/plain; charset=klingon',
  'application/octet-stream; name="=?utf-8?b?w6k=?="',
  '/',
  'multipart/mixed; boundary="',
]
const ENCODINGS = ['7bit', '8bit', 'base64', 'quoted-printable', 'binary', 'x-uuencode', '']
const BODIES = [
  'Hello\r\n',
  '=3D=\r\n=ZZ\r\n',
  'aGVsbG8=\r\n',
  '~~~~\r\n',
  '<p>Hello</p>\r\n',
  '\r\n\r\n',
  '..\r\n',
  '--b\r\n',
  '--b--\r\n',
  'begin 644 a\r\n',
  '\u00e9\r\n',
]

/** The commands before a message, pipelined (RFC 2920). They get four replies; the last is 354 on success. */
export const ENVELOPE = Buffer.from(
  'RSET\r\nMAIL FROM:<app@one.example> BODY=8BITMIME\r\nRCPT TO:<ada@customer.example>\r\nDATA\r\n',
)

/** Returns a message with the final dot. */
export function generateMessage(dice: RandomGenerator): Buffer {
  const whole = Buffer.from(partOf(dice, dice.between(0, 4), true), chance(dice, 0.8) ? 'utf8' : 'latin1')
  const octets = chance(dice, 0.2) ? corruptBytes(dice, whole) : whole
  // Dots are stuffed, so that only the final dot ends the message.
  const stuffed = octets.toString('latin1').replace(/(^|\r\n)\./g, '$1..')
  return Buffer.from(`${stuffed}\r\n.\r\n`, 'latin1')
}

function partOf(dice: RandomGenerator, depth: number, first: boolean): string {
  const fields = Array.from(
    { length: dice.between(0, 4) },
    () => `${pickRandomItem(dice, FIELDS)}: ${randomText(dice)}`,
  )
  if (first && chance(dice, 0.8)) fields.push('From: app@one.example', 'Subject: x')
  if (chance(dice, 0.7)) fields.push(`Content-Type: ${pickRandomItem(dice, TYPES)}`)
  if (chance(dice, 0.5)) fields.push(`Content-Transfer-Encoding: ${pickRandomItem(dice, ENCODINGS)}`)
  const body = Array.from({ length: dice.between(0, 8) }, () => pickRandomItem(dice, BODIES)).join('')
  const parts = depth > 0 ? `--b\r\n${partOf(dice, depth - 1, false)}\r\n--b--\r\n` : ''
  return `${fields.join('\r\n')}\r\n\r\n${body}${parts}`
}
