import {
  encodeOriginalRecipient,
  encodeXtext,
  type EnvelopeDsn,
  type Notify,
  type RecipientDsn,
} from '../mail/dsn.ts'
import type { Reply } from '../mail/reply.ts'
import type { PreparedMessage } from './message.ts'

/** A server's extensions from its EHLO reply (RFC 5321 §4.1.1.1): upper-case keyword to parameters. */
export type Extensions = ReadonlyMap<string, string>

export function parseExtensions(ehlo: Reply): Extensions {
  const lines = ehlo.text.split('\n').slice(1) // the first line is the greeting
  return new Map(
    lines.map((line) => {
      const [keyword = '', ...parameters] = line.trim().split(/[ \t]+/)
      return [keyword.toUpperCase(), parameters.join(' ')]
    }),
  )
}

/** Returns the maximum message size (RFC 1870); undefined when the server announces none. */
export function sizeLimit(extensions: Extensions): number | undefined {
  const limit = Number(extensions.get('SIZE') ?? 0)
  return Number.isSafeInteger(limit) && limit > 0 ? limit : undefined
}

/** Whether an address requires SMTPUTF8 (RFC 6531 §3.3). */
export function needsUtf8(address: string): boolean {
  return /[^\0-\x7f]/.test(address)
}

/** The sender's requests for reports (RFC 3461): for the message, and for each recipient by address. */
export interface DsnRequests extends EnvelopeDsn {
  of: ReadonlyMap<string, RecipientDsn>
}

/** Options of MAIL besides the sender. */
export interface MailOptions {
  message: PreparedMessage
  /** Whether an address or header field contains UTF-8. */
  utf8: boolean
  /** Whether the sender requires TLS on the whole path (RFC 8689). */
  requireTls: boolean
  requests?: DsnRequests | undefined
}

/** Builds MAIL with the parameters that the server supports and the message needs. */
export function buildMailCommand(from: string, options: MailOptions, extensions: Extensions): string {
  const { message, utf8, requireTls, requests } = options
  const dsn = extensions.has('DSN') ? requests : undefined
  const parameters = [
    extensions.has('SIZE') ? ` SIZE=${message.bytes.length}` : '', // RFC 1870 §5: without stuffed dots
    message.eightBit && extensions.has('8BITMIME') ? ' BODY=8BITMIME' : '',
    utf8 && extensions.has('SMTPUTF8') ? ' SMTPUTF8' : '',
    requireTls && extensions.has('REQUIRETLS') ? ' REQUIRETLS' : '',
    dsn?.ret ? ` RET=${dsn.ret}` : '',
    parameter('ENVID', dsn?.envid ? encodeXtext(dsn.envid) : undefined),
  ]
  return `MAIL FROM:<${from}>${parameters.join('')}`
}

/**
 * Builds RCPT. Passes on the sender's requests for reports if the server supports them (RFC 3461 §5.2.1 c, d), except
 * SUCCESS: the return path is ours, so the sender gets our report of success instead. §5.2.7.3 c handles the rest of
 * NOTIFY in the same way (docs/decisions/0008-delivery-reports.md).
 */
export function buildRcptCommand(recipient: string, extensions: Extensions, requests?: DsnRequests): string {
  const dsn = extensions.has('DSN') ? requests?.of.get(recipient) : undefined
  const parameters = [
    parameter('NOTIFY', dsn?.notify ? withoutSuccess(dsn.notify) : undefined),
    parameter('ORCPT', dsn?.orcpt ? encodeOriginalRecipient(dsn.orcpt) : undefined),
  ]
  return `RCPT TO:<${recipient}>${parameters.join('')}`
}

/** Returns NOTIFY without SUCCESS, which we report ourselves. Returns NEVER if nothing else was requested. */
function withoutSuccess(notify: Notify): string {
  if (notify === 'NEVER') return notify
  return notify.filter((when) => when !== 'SUCCESS').join(',') || 'NEVER'
}

const parameter = (name: string, value: string | undefined): string =>
  value === undefined ? '' : ` ${name}=${value}`

/**
 * Whether the message needs 8BITMIME and the server lacks it. SMTPUTF8, if the header needs it, allows 8-bit text, too
 * (RFC 6531 §3.1).
 */
export function lacksEightBitMime(message: PreparedMessage, extensions: Extensions): boolean {
  const byUtf8 = message.eightBitHeader && extensions.has('SMTPUTF8')
  return message.eightBit && !extensions.has('8BITMIME') && !byUtf8
}
