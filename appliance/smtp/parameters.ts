/**
 * Parses the parameters of MAIL and RCPT: SIZE (RFC 1870), BODY (RFC 6152), SMTPUTF8 (RFC 6531), DSN (RFC 3461),
 * REQUIRETLS (RFC 8689). Pure.
 */
import type { EnvelopeDsn, Notify, RecipientDsn } from '../mail/dsn.ts'
import { refuse } from '../mail/refusals.ts'

type Parameters = ReadonlyMap<string, string | null>

export interface MailParameters {
  /** The size that the client declared, in octets. */
  size: number
  smtpUtf8: boolean
  requireTls: boolean
  dsn: EnvelopeDsn
}

const wrong = (expected: string) => refuse('smtp_syntax', { expected })

/**
 * Parses the parameters of MAIL. Refuses: `smtp_parameter`, `smtp_syntax`, `message_too_large`.
 * @param limit maximum message size in octets
 */
export function parseMailParameters(parameters: Parameters, limit: number): MailParameters {
  const read: MailParameters = {
    size: 0,
    smtpUtf8: false,
    requireTls: false,
    dsn: { ret: null, envid: null },
  }
  for (const [keyword, value] of parameters) {
    switch (keyword) {
      case 'SIZE':
        if (value === null || !/^\d{1,20}$/.test(value)) throw wrong('SIZE=octets')
        read.size = Number(value)
        break
      case 'BODY':
        if (!/^(7BIT|8BITMIME)$/i.test(value ?? '')) throw wrong('BODY=7BIT or BODY=8BITMIME')
        break
      case 'SMTPUTF8':
        if (value !== null) throw wrong('SMTPUTF8 without a value')
        read.smtpUtf8 = true
        break
      case 'REQUIRETLS':
        if (value !== null) throw wrong('REQUIRETLS without a value')
        read.requireTls = true
        break
      case 'AUTH':
        // AUTH= names the original submitter (RFC 4954 §5). It is ignored, because the key determines the sender.
        if (value === null || decodeXtext(value) === undefined) throw wrong('AUTH=<> or AUTH=xtext')
        break
      case 'RET':
        if (!/^(FULL|HDRS)$/i.test(value ?? '')) throw wrong('RET=FULL or RET=HDRS')
        read.dsn.ret = value!.toUpperCase() as 'FULL' | 'HDRS'
        break
      case 'ENVID':
        read.dsn.envid = readXtext(value, 100, 'ENVID=xtext of at most 100 characters')
        break
      default:
        throw refuse('smtp_parameter', { parameter: keyword, command: 'MAIL' })
    }
  }
  if (read.size > limit) throw refuse('message_too_large', { limit })
  return read
}

/** Parses the parameters of RCPT. Refuses: `smtp_parameter`, `smtp_syntax`. */
export function parseRcptParameters(parameters: Parameters): RecipientDsn {
  const dsn: RecipientDsn = { notify: null, orcpt: null }
  for (const [keyword, value] of parameters) {
    if (keyword === 'NOTIFY') dsn.notify = readNotify(value)
    else if (keyword === 'ORCPT') dsn.orcpt = readOrcpt(value)
    else throw refuse('smtp_parameter', { parameter: keyword, command: 'RCPT' })
  }
  return dsn
}

/** Parses NOTIFY: NEVER alone, or a list of the other keywords (RFC 3461 §4.1). */
function readNotify(value: string | null): Notify {
  const words = (value ?? '').toUpperCase().split(',')
  if (words.length === 1 && words[0] === 'NEVER') return 'NEVER'
  const known = words.filter((word) => word === 'SUCCESS' || word === 'FAILURE' || word === 'DELAY')
  if (known.length !== words.length) throw wrong('NOTIFY=NEVER or a list of SUCCESS, FAILURE, DELAY')
  return [...new Set(known)]
}

/**
 * Parses ORCPT: `rfc822;xtext`, at most 500 characters (RFC 3461 §4.2). An address of type `utf-8` may contain raw
 * UTF-8 (RFC 6533 §3).
 */
function readOrcpt(value: string | null): string {
  const expected = 'ORCPT=rfc822;xtext of at most 500 characters'
  const [, type, address] = /^([A-Za-z\d-]+);(.+)$/su.exec(value ?? '') ?? []
  if (type === undefined || address === undefined) throw wrong(expected)
  const most = 500
  const utf8 = type.toLowerCase() === 'utf-8'
  return `${type};${readXtext(address, most, expected, utf8 ? PRINTABLE_UTF8 : PRINTABLE)}`
}

/**
 * Characters that a decoded ENVID or ORCPT may contain (RFC 3461 §4.2, §4.4). The value is copied into reports, so it
 * must not contain line breaks.
 */
const PRINTABLE = /^[\t -~]+$/
const PRINTABLE_UTF8 = /^[ -~\u00a0-\u{10FFFF}]+$/u

function readXtext(value: string | null, most: number, expected: string, may = PRINTABLE): string {
  const text = value === null || value.length > most ? undefined : decodeXtext(value)
  if (text === undefined || !may.test(text)) throw wrong(expected)
  return text
}

/** Decodes xtext (RFC 3461 §4), in which `+2B` is an escaped `+`; undefined if malformed. */
function decodeXtext(text: string): string | undefined {
  if (/\+(?![\dA-F]{2})|=/.test(text)) return undefined
  return text.replaceAll(/\+([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
