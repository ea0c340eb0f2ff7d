import { type Extensions, lacksEightBit, needsUtf8, sizeLimit, type Requests } from './extensions.ts'
import type { Prepared } from './message.ts'
import type { Failure, Fate, Outcome } from './outcome.ts'
import type { TlsDemand } from './tls-demand.ts'

/** What of an order can be said to a server. */
export interface Sayable {
  /** Recipients to whom the message can go. */
  sayable: string[]
  /** Those who cannot be said, each with the reason. */
  refused: Map<string, Failure>
  /** Why nobody can get it here. */
  failure: Failure | undefined
}

/** The message in the form that a server with these extensions takes; or why there is none, as a clause. */
export async function fitting(
  order: Order,
  extensions: Extensions,
): Promise<Prepared | { impossible: string }> {
  const { message, sevenBit } = order
  // A header beyond ASCII is refused for that (RFC 6531 §3.2).
  return lacksEightBit(message, extensions) && !message.eightBitHeader ? sevenBit() : message
}

/** What no form of the message can do about it: RFC 3463 §3.7, X.6.3. */
export function unconvertible({ host, ip, recipients }: Order, why: string): Outcome {
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
  return new Map(recipients.map((one): [string, Fate] => [one, { kind: 'failed', failure }]))
}

/** Recipients that can be said to a server with these extensions, when the message fits at all. Pure. */
export function sayable(order: Order, extensions: Extensions): Sayable {
  const { host, ip, from, recipients, message } = order
  const limit = sizeLimit(extensions)
  if (limit !== undefined && message.bytes.length > limit) {
    const note = `${host} accepts messages of up to ${limit} bytes; this one has ${message.bytes.length}.`
    return nobody({ kind: 'unsupported', phase: 'mail', host, ip, reply: null, status: '5.3.4', note })
  }
  // RFC 6531 §3.2. What can be encoded was encoded before (mime/encode-header.ts).
  if (message.eightBitHeader && !extensions.has('SMTPUTF8')) {
    const note = `${host} does not offer SMTPUTF8. The message needs it: its header has non-ASCII characters that cannot be encoded, such as in an address.`
    return nobody({ kind: 'unsupported', phase: 'mail', host, ip, reply: null, status: '5.6.7', note })
  }
  const refused = new Map<string, Failure>()
  for (const recipient of recipients) {
    const why = unsayable(from, order, extensions) ?? unsayable(recipient, order, extensions)
    if (why) refused.set(recipient, why)
  }
  return { sayable: recipients.filter((one) => !refused.has(one)), refused, failure: undefined }
}

const nobody = (failure: Failure): Sayable => ({ sayable: [], refused: new Map(), failure })

function unsayable(address: string, { host, ip }: Order, extensions: Extensions): Failure | undefined {
  const failure = { kind: 'unsupported', phase: 'rcpt', host, ip, reply: null } as const
  // The last guard against commands smuggled in an address; what accepts mail refuses such addresses long before.
  if (/[\0-\x1f\x7f<>]/.test(address)) {
    const note = `The address ${JSON.stringify(address)} is not valid in SMTP.`
    return { ...failure, status: '5.1.3', note }
  }
  if (!needsUtf8(address) || extensions.has('SMTPUTF8')) return undefined
  const note = `${host} does not offer SMTPUTF8, which the address ${address} needs.`
  return { ...failure, status: '5.6.7', note }
}

/** Makes the message as it goes to a server without 8BITMIME (RFC 6152 §3), signed anew; or tells why it cannot, as a clause. */
export type ToSevenBit = () => Promise<Prepared | { impossible: string }>

/** One message for some recipients at one host. */
export interface Order {
  host: string
  ip: string
  /** Our EHLO name. */
  hostname: string
  from: string
  recipients: string[]
  message: Prepared
  sevenBit: ToSevenBit
  /** To be passed on where the server understands it. */
  requests?: Requests | undefined
  demand: TlsDemand
}
