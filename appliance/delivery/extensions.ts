import {
  encodeOriginalRecipient,
  encodeXtext,
  type EnvelopeDsn,
  type Notify,
  type RecipientDsn,
} from '../mail/dsn.ts'
import type { Reply } from '../mail/reply.ts'
import type { Prepared } from './message.ts'

/** What a server offers, read from its EHLO reply (RFC 5321 §4.1.1.1): keyword in upper case to its parameters. */
export type Extensions = ReadonlyMap<string, string>

export function readExtensions(ehlo: Reply): Extensions {
  const lines = ehlo.text.split('\n').slice(1) // the first line greets
  return new Map(
    lines.map((line) => {
      const [keyword = '', ...parameters] = line.trim().split(/[ \t]+/)
      return [keyword.toUpperCase(), parameters.join(' ')]
    }),
  )
}

/** Largest message that the server takes (RFC 1870); undefined when it names no limit. */
export function sizeLimit(extensions: Extensions): number | undefined {
  const limit = Number(extensions.get('SIZE') ?? 0)
  return Number.isSafeInteger(limit) && limit > 0 ? limit : undefined
}

/** Whether an address can only be said with SMTPUTF8 (RFC 6531 §3.3). */
export function needsUtf8(address: string): boolean {
  return /[^\0-\x7f]/.test(address)
}

/** What the sender said of reports (RFC 3461): of the message, and of each recipient by address. */
export interface Requests extends EnvelopeDsn {
  of: ReadonlyMap<string, RecipientDsn>
}

/** What MAIL says, beside the sender, of the message. */
export interface MailOptions {
  message: Prepared
  /** An address or a header field has UTF-8. */
  utf8: boolean
  /** The sender demands TLS on the whole way (RFC 8689). */
  requireTls: boolean
  requests?: Requests | undefined
}

/** MAIL with the parameters that the server understands and the message calls for. */
export function mailCommand(from: string, options: MailOptions, extensions: Extensions): string {
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
 * RCPT, with what the sender said of reports where the server understands it (RFC 3461 §5.2.1 c, d), but for SUCCESS: the return
 * path is ours, so a report of success would not reach the sender, who gets ours instead. §5.2.7.3 c answers SUCCESS and passes
 * the rest of NOTIFY on in the same way (docs/decisions/0008-delivery-reports.md).
 */
export function rcptCommand(recipient: string, extensions: Extensions, requests?: Requests): string {
  const dsn = extensions.has('DSN') ? requests?.of.get(recipient) : undefined
  const parameters = [
    parameter('NOTIFY', dsn?.notify ? withoutSuccess(dsn.notify) : undefined),
    parameter('ORCPT', dsn?.orcpt ? encodeOriginalRecipient(dsn.orcpt) : undefined),
  ]
  return `RCPT TO:<${recipient}>${parameters.join('')}`
}

/** What is left of a request when success is ours to report. Who asked for nothing else wants no word of anything else. */
function withoutSuccess(notify: Notify): string {
  if (notify === 'NEVER') return notify
  return notify.filter((when) => when !== 'SUCCESS').join(',') || 'NEVER'
}

const parameter = (name: string, value: string | undefined): string =>
  value === undefined ? '' : ` ${name}=${value}`

/** Whether the message needs 8BITMIME and the server lacks it. SMTPUTF8, where the header needs that, takes 8-bit text as well (RFC 6531 §3.1). */
export function lacksEightBit(message: Prepared, extensions: Extensions): boolean {
  const byUtf8 = message.eightBitHeader && extensions.has('SMTPUTF8')
  return message.eightBit && !extensions.has('8BITMIME') && !byUtf8
}
