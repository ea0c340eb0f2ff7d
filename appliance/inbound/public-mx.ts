/** Receives mail that other servers send to the public MX on port 25 without authentication (RFC 5321 §3.6). */
import { parseMailbox } from '../mail/address.ts'
import { refuse } from '../mail/refusals.ts'
import type { IncomingMessage, Client, MailHandler, MailCommand } from '../smtp/smtp.ts'
import type { Dnsbl } from './dnsbl.ts'
import type { ResolvedRecipient, MailReceiver } from './inbound.ts'
import type { ReceiveResult } from './receive.ts'

export { createDnsbl } from './dnsbl.ts'
export { createMilters } from './milters.ts'
export { createSpamFilter } from './spam-filter.ts'

/** Time for the largest message at a little over 256 kbit/s. */
const MESSAGE_MS = 900_000
/** Web forms and Exchange send long lines. The limit of RFC 5321 §4.5.3.1.6 binds senders only. */
const LINE_OCTETS = 10_000

type Taker = Omit<MailReceiver, 'close'>

/**
 * Creates the handler for mail to the public MX.
 * @param dnsbl blocklists that clients are looked up in; default: none
 */
export function createPublicMx(inbound: Taker, dnsbl?: Dnsbl): MailHandler {
  return {
    messageBytes: inbound.receivedBytes,
    messageMs: MESSAGE_MS,
    lineOctets: LINE_OCTETS,
    begin: (client, mail) => new Arrived(inbound, client, mail, dnsbl),
  }
}

/**
 * Delivers a message to the public MX as a loopback client would, but without a connection. Refuses the same messages.
 */
export async function deliverToPublicMx(
  handler: MailHandler,
  { mailFrom, rcptTo, helo, bytes }: { mailFrom: string; rcptTo: string; helo: string; bytes: Buffer },
): Promise<void> {
  const client = { ip: '127.0.0.1', helo, extended: true, tls: null, trusted: false, caller: null }
  const [from, mailbox] = [parseMailbox(mailFrom) ?? null, parseMailbox(rcptTo)]
  if (!mailbox) throw refuse('smtp_relay')
  const about = { smtpUtf8: false, requireTls: false, size: bytes.length, dsn: { ret: null, envid: null } }
  const arriving = await handler.begin(client, { from, ...about })
  const recipient = { mailbox, dsn: { notify: null, orcpt: null } }
  await arriving.rcpt(recipient)
  arriving.admit()
  await arriving.take(bytes, [recipient])
}

/**
 * A message to recipients at receiving domains, or to a single return path, report address or postmaster. Each of the
 * latter needs a transaction of its own, so that no report is mixed with other mail.
 */
class Arrived implements IncomingMessage {
  readonly #inbound: Taker
  readonly #client: Client
  readonly #mailFrom: string
  readonly #size: number
  readonly #addressees: ResolvedRecipient[] = []
  readonly #listedBy: Promise<string | null>

  constructor(inbound: Taker, client: Client, { from, size }: MailCommand, dnsbl?: Dnsbl) {
    this.#inbound = inbound
    this.#client = client
    this.#mailFrom = from?.address ?? ''
    this.#size = size
    this.#listedBy = dnsbl?.listedBy(client.ip) ?? Promise.resolve(null)
  }

  get messageBytes(): number {
    const first = this.#addressees[0]
    return first ? this.#inbound.limitOf(first) : this.#inbound.receivedBytes
  }

  async rcpt({ mailbox }: Parameters<IncomingMessage['rcpt']>[0]): Promise<void> {
    const found = await this.#inbound.addressee(mailbox)
    const first = this.#addressees[0]
    if (first && !(first.receiver && found.receiver)) throw refuse('inbound_one')
    await this.#admitServer(found)
    const limit = this.#inbound.limitOf(found)
    if (this.#size > limit) throw refuse('message_too_large', { limit })
    this.#addressees.push(found)
  }

  /**
   * Checks the server against blocklists. Delivery reports, reports about domains and mail to postmaster are accepted
   * even from listed servers.
   */
  async #admitServer({ receiver }: ResolvedRecipient): Promise<void> {
    const zone = receiver && (await this.#listedBy)
    if (zone) throw refuse('inbound_listed', { ip: this.#client.ip, zone })
  }

  admit(): void {
    this.#inbound.admit(this.#addressees[0]!, { ip: this.#client.ip, mailFrom: this.#mailFrom })
  }

  async take(bytes: Buffer) {
    const { id, wanted } = await this.#store(bytes)
    return { emailId: null, reply: { code: 250, enhanced: '2.0.0', text: `Received as ${id}` }, wanted }
  }

  async #store(bytes: Buffer): Promise<ReceiveResult> {
    const { ip, helo, tls, extended } = this.#client
    const arrival = { mailFrom: this.#mailFrom, ip, helo, tls }
    const recipients = this.#addressees.flatMap(({ address, receiver, rule }) =>
      receiver ? [{ address, receiver, rule }] : [],
    )
    if (recipients.length > 0) return this.#inbound.receive({ ...arrival, bytes, extended, recipients })
    const first = this.#addressees[0]!
    // Reports about domains are only accepted if their sender is authenticated.
    if (first.reported)
      return { id: await this.#inbound.report({ ...arrival, bytes }, first.reported), wanted: true }
    return { id: await this.#inbound.keep(first, arrival, bytes), wanted: first.proven }
  }
}
