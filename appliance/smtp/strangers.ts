/** What port 25 takes from clients that have not signed in: one recipient, who is a return path or postmaster. */
import type { Addressee } from '../inbound/inbound.ts'
import { refuse } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'
import { MAX_LOOKUPS } from './limits.ts'
import { readRcptParameters } from './parameters.ts'
import { reply } from './reply.ts'
import type { Session } from './session.ts'
import { parsePath } from './syntax.ts'
import type { Transaction } from './session-log.ts'

/** Largest message that the client may send now, in octets. EHLO offers the one of those who sign in, which may still happen. */
export const largestMessage = ({ caller, shared }: Session): number =>
  caller ? shared.config.messageBytes : shared.inbound.messageBytes

/**
 * RCPT without sign-in. One recipient, so that a message has one fate; the others come in transactions of their own. Refuses:
 * `smtp_relay`, `inbound_unknown`, `inbound_one`, `inbound_lookups`, `unavailable`, …
 */
export async function rcptOfStranger(
  session: Session,
  transaction: Transaction,
  args: string,
): Promise<Reply> {
  const { inbound, config } = session.shared
  if (++session.lookups > MAX_LOOKUPS) throw refuse('inbound_lookups')
  const { mailbox, parameters } = parsePath('RCPT', args, config.hostname)
  const dsn = readRcptParameters(parameters)
  const addressee = await inbound.addressee(mailbox!)
  const before = transaction.addressee
  if (before && before.address !== addressee.address) throw refuse('inbound_one')
  transaction.addressee = addressee
  transaction.recipients.set(addressee.address, { mailbox: mailbox!, dsn })
  return reply(250, '2.1.5', 'Recipient ok')
}

/** Whether the message may follow, where nobody signed in. Refuses: `inbound_sender`, `inbound_rate`. */
export function admitStranger({ shared, ip }: Session, { addressee, from }: Transaction): void {
  if (addressee) shared.inbound.admit(addressee, { ip, mailFrom: from?.address ?? '' })
}

/** Stores the message; 250 is said after the commit. */
export async function keepOfStranger(
  { shared, ip, helo, socket }: Session,
  { from }: Transaction,
  addressee: Addressee,
  bytes: Buffer,
): Promise<Reply> {
  const tls = socket.tls?.getProtocol() ?? null
  const arrival = { mailFrom: from?.address ?? '', ip, helo: helo!.name, tls }
  const id = await shared.inbound.keep(addressee, arrival, bytes)
  return reply(250, '2.0.0', `Received as ${id}`)
}
