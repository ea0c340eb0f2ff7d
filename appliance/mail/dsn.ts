/** Requests for delivery status notifications in the envelope (RFC 3461). Pure. */

/** NOTIFY: when the sender wants a report about a recipient (RFC 3461 §4.1). */
export type Notify = ('SUCCESS' | 'FAILURE' | 'DELAY')[] | 'NEVER'

/** Parameters of MAIL about reports (RFC 3461 §4.3, §4.4); null when absent. */
export interface EnvelopeDsn {
  /** How much of the message a failure report returns. */
  ret: 'FULL' | 'HDRS' | null
  /** The sender's id of the transaction, decoded from xtext. */
  envid: string | null
}

/** Parameters of RCPT about reports (RFC 3461 §4.1, §4.2); null when absent. */
export interface RecipientDsn {
  notify: Notify | null
  /** The original recipient and its address type, decoded from xtext: `rfc822;ada@example.com`. */
  orcpt: string | null
}

/**
 * The action in a report (RFC 3464 §2.3.3). There is no `delivered`, because the next server is responsible for final
 * delivery. `relayed` means that the message went to a server that doesn't send success reports.
 */
export type ReportKind = 'failed' | 'delayed' | 'relayed'

const KEYWORD = { failed: 'FAILURE', delayed: 'DELAY', relayed: 'SUCCESS' } as const satisfies Record<
  ReportKind,
  Exclude<Notify, 'NEVER'>[number]
>

/** Whether the sender of a message wants this report. The default is failure and delay (RFC 3461 §4.1). */
export function isReportWanted(notify: Notify | null, kind: ReportKind): boolean {
  if (notify === null) return kind !== 'relayed'
  return notify !== 'NEVER' && notify.includes(KEYWORD[kind])
}

/**
 * Encodes an original recipient for ORCPT: type `utf-8` in its seven-bit form (RFC 6533 §3), any other as xtext.
 * Undefined when it has no type or can't be encoded in ASCII.
 */
export function encodeOriginalRecipient(orcpt: string): string | undefined {
  const [, type, address] = /^([a-z0-9][a-z0-9-]*);(.+)$/is.exec(orcpt) ?? []
  if (type === undefined || address === undefined) return undefined
  const encoded = type.toLowerCase() === 'utf-8' ? encodeUtf8Address(address) : encodeXtext(address)
  return encoded && `${type};${encoded}`
}

/**
 * Encodes utf-8-addr-xtext (RFC 6533 §3): characters other than printable ASCII, and `+`, `=` and `\`, become `\x{…}`.
 */
export function encodeUtf8Address(address: string): string {
  return address.replaceAll(/\\x\{[0-9A-F]{2,6}\}|[^!-~]|[+=\\]/giu, (char) =>
    char.startsWith('\\x{')
      ? char
      : `\\x{${char.codePointAt(0)!.toString(16).toUpperCase().padStart(2, '0')}}`,
  )
}

/**
 * Encodes xtext (RFC 3461 §4), in which printable ASCII except `+` and `=` stands for itself; undefined for non-ASCII
 * text.
 */
export function encodeXtext(text: string): string | undefined {
  if (/[^\0-\x7f]/.test(text)) return undefined
  return text.replaceAll(
    /[^!-~]|[+=]/g,
    (char) => `+${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
