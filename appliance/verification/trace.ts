/** Adds and removes the header fields that a receiving server is responsible for (RFC 5321 §4.4, RFC 8601). Pure. */
import { endsWithBlankLine, getUnfoldedValue, splitMessage, type HeaderField } from '../mail/headers.ts'
import type { Authentication, AuthVerdict, SpamVerdict } from '../mail/inbound.ts'

/** How a message was received. */
export interface TraceArgs {
  hostname: string
  id: string
  ip: string
  helo: string
  tls: string | null
  extended: boolean
  mailFrom: string
  /**
   * Named in the trace only if there is a single recipient, so that recipients don't learn of each other (RFC 5321
   * §7.2).
   */
  recipients: readonly string[]
  authentication: Authentication
  /** The spam filter's verdict; null if no spam filter was used. */
  spam: SpamVerdict | null
  now: number
}

/**
 * Prepends Return-Path, X-Spam-Status if a filter was used, Authentication-Results and Received. Removes older fields
 * of these names, and all results that claim to be from this server (RFC 8601 §5).
 */
export function addTraceFields(bytes: Uint8Array, args: TraceArgs): Buffer {
  const { fields, bodyOffset } = splitMessage(bytes)
  const kept = fields.filter((field) => !isForged(field, args)).map(({ raw }) => raw)
  const fieldsEnd = fields.reduce((end, { raw }) => end + raw.length, 0)
  const returnPath = `Return-Path: <${safe(args.mailFrom)}>`
  const front = [returnPath, ...spamStatus(args), results(args), received(args)].join('\r\n')
  // Separate the body with a blank line when the message has no header, or no blank line after it.
  const blank = bodyOffset > fieldsEnd || endsWithBlankLine(bytes, bodyOffset) ? '' : '\r\n'
  return Buffer.concat([Buffer.from(`${front}\r\n`), ...kept, Buffer.from(blank), bytes.subarray(fieldsEnd)])
}

function isForged(field: HeaderField, { hostname, spam }: TraceArgs): boolean {
  const name = field.name.toLowerCase()
  if (name === 'return-path') return true
  if (spam !== null && (name === 'x-spam-status' || name === 'x-spam-flag')) return true
  if (name !== 'authentication-results') return false
  const id = /^[\s"]*([^\s";/]+)/.exec(withoutComments(getUnfoldedValue(field).slice(0, 4096)))?.[1]
  return id?.toLowerCase() === hostname.toLowerCase()
}

/** Removes comments, which may be nested (RFC 5322 §3.2.2). Linear in the length of the text. */
function withoutComments(text: string): string {
  let depth = 0
  const kept = [...text].filter((character) => {
    if (character === '(') depth++
    const outside = depth === 0
    if (character === ')' && depth > 0) depth--
    return outside
  })
  return kept.join('')
}

/** Removes everything from untrusted text that could end a line, comment or value. */
const safe = (text: string): string =>
  text.replaceAll(/[^\w.!#$%&'*+/=?^`{|}~@:\-\u0080-\u{10FFFF}]/gu, '').slice(0, 320)

const of = ({ result }: AuthVerdict, method: string, property: string, value: string | null): string =>
  `${method}=${result}${value === null || safe(value) === '' ? '' : ` ${property}=${safe(value)}`}`

function results({ hostname, authentication, mailFrom, helo }: TraceArgs): string {
  const { spf, dkim, dmarc, arc } = authentication
  const property = mailFrom === '' ? 'smtp.helo' : 'smtp.mailfrom'
  const value = mailFrom === '' ? helo : mailFrom
  return [
    `Authentication-Results: ${hostname}`,
    of(spf, 'spf', property, value),
    of(dkim, 'dkim', 'header.d', dkim.domain),
    of(dmarc, 'dmarc', 'header.from', dmarc.domain),
    of(arc, 'arc', '', null),
  ].join(';\r\n ')
}

function spamStatus({ spam }: TraceArgs): string[] {
  if (spam === null) return []
  const { flagged, score, rejectScore, symbols } = spam
  const tests = symbols.map((name) => safe(name)).filter((name) => name !== '')
  const scores = `${flagged ? 'Yes' : 'No'}, score=${score.toFixed(1)} required=${rejectScore.toFixed(1)}`
  return [`X-Spam-Status: ${scores}${tests.length > 0 ? ` tests=${tests.join(',\r\n ')}` : ''}`]
}

function received({ hostname, id, ip, helo, tls, extended, recipients, now }: TraceArgs): string {
  const address = ip.includes(':') ? `IPv6:${ip}` : ip
  const protocol = `${extended ? 'ESMTP' : 'SMTP'}${tls === null ? '' : 'S'}`
  const only = recipients.length === 1 ? `\r\n for <${safe(recipients[0]!)}>` : ''
  const date = new Date(now).toUTCString().replace('GMT', '+0000')
  return `Received: from ${safe(helo)} ([${address}])\r\n by ${hostname} with ${protocol} id ${id}${only};\r\n ${date}`
}
