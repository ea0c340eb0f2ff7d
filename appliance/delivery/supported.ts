import { type Extensions, lacksEightBitMime, needsUtf8, sizeLimit, type DsnRequests } from './extensions.ts'
import type { PreparedMessage } from './message.ts'
import type { Failure, RecipientResult, Outcome } from './outcome.ts'
import type { TlsDemand } from './tls-demand.ts'

/** The part of an order that a server can accept. */
export interface SupportedPart {
  /** Recipients that can be sent. */
  recipients: string[]
  /** Recipients that the message can't be sent to, each with the reason. */
  refused: Map<string, Failure>
  /** Why the message can't be sent to any recipient. */
  failure: Failure | undefined
}

/**
 * Returns the message in a form that a server with these extensions accepts, or a clause that says why it can't be
 * converted.
 */
export async function convertForServer(
  order: TransactionInput,
  extensions: Extensions,
): Promise<PreparedMessage | { impossible: string }> {
  const { message, sevenBit } = order
  // A non-ASCII header is refused for another reason (RFC 6531 §3.2).
  return lacksEightBitMime(message, extensions) && !message.eightBitHeader ? sevenBit() : message
}

/** The failure when the message can't be converted (RFC 3463 §3.7, X.6.3). */
export function createConversionFailure({ host, ip, recipients }: TransactionInput, why: string): Outcome {
  const note = `${host} does not offer 8BITMIME, and the message cannot be converted to 7-bit text: ${why}.`
  const failure: Failure = {
    kind: 'unsupported',
    phase: 'mail',
    host,
    ip,
    reply: null,
    status: '5.6.3',
    note,
  }
  return new Map(recipients.map((one): [string, RecipientResult] => [one, { kind: 'failed', failure }]))
}

/** Selects the recipients that a server with these extensions accepts, if it accepts the message at all. Pure. */
export function selectSupportedPart(order: TransactionInput, extensions: Extensions): SupportedPart {
  const { host, ip, from, recipients, message } = order
  const limit = sizeLimit(extensions)
  if (limit !== undefined && message.bytes.length > limit) {
    const note = `${host} accepts messages of up to ${limit} bytes; this one has ${message.bytes.length}.`
    return nobody({ kind: 'unsupported', phase: 'mail', host, ip, reply: null, status: '5.3.4', note })
  }
  // The message needs SMTPUTF8 (RFC 6531 §3.2): everything that can be encoded is already encoded
  // (mime/encode-header.ts).
  if (message.eightBitHeader && !extensions.has('SMTPUTF8')) {
    const note = `${host} does not offer SMTPUTF8. The message needs it: its header has non-ASCII characters that cannot be encoded, such as in an address.`
    return nobody({ kind: 'unsupported', phase: 'mail', host, ip, reply: null, status: '5.6.7', note })
  }
  const refused = new Map<string, Failure>()
  for (const recipient of recipients) {
    const why = unsupported(from, order, extensions) ?? unsupported(recipient, order, extensions)
    if (why) refused.set(recipient, why)
  }
  return { recipients: recipients.filter((one) => !refused.has(one)), refused, failure: undefined }
}

const nobody = (failure: Failure): SupportedPart => ({ recipients: [], refused: new Map(), failure })

function unsupported(
  address: string,
  { host, ip }: TransactionInput,
  extensions: Extensions,
): Failure | undefined {
  const failure = { kind: 'unsupported', phase: 'rcpt', host, ip, reply: null } as const
  // Last check against SMTP injection through an address. Such addresses are already refused at intake.
  if (/[\0-\x1f\x7f<>]/.test(address)) {
    const note = `The address ${JSON.stringify(address)} is not valid in SMTP.`
    return { ...failure, status: '5.1.3', note }
  }
  if (!needsUtf8(address) || extensions.has('SMTPUTF8')) return undefined
  const note = `${host} does not offer SMTPUTF8, which the address ${address} needs.`
  return { ...failure, status: '5.6.7', note }
}

/**
 * Converts the message for a server without 8BITMIME (RFC 6152 §3) and signs it again; or returns a clause that says
 * why it can't.
 */
export type SevenBitConverter = () => Promise<PreparedMessage | { impossible: string }>

/** One message for some recipients at one host. */
export interface TransactionInput {
  host: string
  ip: string
  /** Our EHLO name. */
  hostname: string
  from: string
  recipients: string[]
  message: PreparedMessage
  sevenBit: SevenBitConverter
  /** The sender's requests for reports, passed on if the server supports DSN. */
  requests?: DsnRequests | undefined
  demand: TlsDemand
}
