/** Delivery status notifications as the envelope asks for them (RFC 3461). Pure. */

/** NOTIFY (RFC 3461 §4.1): when the sender wants to hear of a recipient. */
export type Notify = ('SUCCESS' | 'FAILURE' | 'DELAY')[] | 'NEVER'

/** What MAIL says of reports (RFC 3461 §4.3, §4.4); null where it says nothing. */
export interface EnvelopeDsn {
  /** How much of the message a report of failure brings back. */
  ret: 'FULL' | 'HDRS' | null
  /** The sender's own name of the transaction, decoded from xtext. */
  envid: string | null
}

/** What RCPT says of reports (RFC 3461 §4.1, §4.2); null where it says nothing. */
export interface RecipientDsn {
  notify: Notify | null
  /** The recipient as the sender first wrote it, with its type, decoded from xtext: `rfc822;ada@example.com`. */
  orcpt: string | null
}

/**
 * What a report tells, by its action (RFC 3464 §2.3.3). There is no `delivered`: final delivery is the next server's.
 * `relayed` is its place: the message was handed to a server from which no report of success is to come.
 */
export type ReportKind = 'failed' | 'delayed' | 'relayed'

const KEYWORD = { failed: 'FAILURE', delayed: 'DELAY', relayed: 'SUCCESS' } as const satisfies Record<
  ReportKind,
  Exclude<Notify, 'NEVER'>[number]
>

/** Whether the sender of a message wants this report. One who asked for nothing hears of failure and of delay (RFC 3461 §4.1). */
export function reportWanted(notify: Notify | null, kind: ReportKind): boolean {
  if (notify === null) return kind !== 'relayed'
  return notify !== 'NEVER' && notify.includes(KEYWORD[kind])
}

/**
 * An original recipient as ORCPT takes it: an address of type `utf-8` in its seven-bit form (RFC 6533 §3), any other as
 * xtext. Undefined when it has no type, or cannot be said in ASCII.
 */
export function encodeOriginalRecipient(orcpt: string): string | undefined {
  const [, type, address] = /^([a-z0-9][a-z0-9-]*);(.+)$/is.exec(orcpt) ?? []
  if (type === undefined || address === undefined) return undefined
  const encoded = type.toLowerCase() === 'utf-8' ? encodeUtf8Address(address) : encodeXtext(address)
  return encoded && `${type};${encoded}`
}

/** utf-8-addr-xtext (RFC 6533 §3): whatever is not printable ASCII, and `+`, `=` and `\`, becomes `\x{…}`. */
export function encodeUtf8Address(address: string): string {
  return address.replaceAll(/\\x\{[0-9A-F]{2,6}\}|[^!-~]|[+=\\]/giu, (char) =>
    char.startsWith('\\x{')
      ? char
      : `\\x{${char.codePointAt(0)!.toString(16).toUpperCase().padStart(2, '0')}}`,
  )
}

/** Text as xtext (RFC 3461 §4): printable ASCII but `+` and `=` stands for itself; undefined when it holds anything but ASCII. */
export function encodeXtext(text: string): string | undefined {
  if (/[^\0-\x7f]/.test(text)) return undefined
  return text.replaceAll(
    /[^!-~]|[+=]/g,
    (char) => `+${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
