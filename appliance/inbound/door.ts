/** The door of the public MX: what servers on the internet bring to port 25 without sign-in (RFC 5321 §3.6). */
import { refuse } from '../mail/refusals.ts'
import type { Arriving, Client, Door, MailCommand } from '../smtp/smtp.ts'
import type { Addressee, Inbound } from './inbound.ts'

/** A message is at most 1 MB. */
const MESSAGE_MS = 300_000
/** Web forms and Exchange send long lines. The limit of RFC 5321 §4.5.3.1.6 is one for those who send. */
const LINE_OCTETS = 10_000

export function createInboundDoor(
  inbound: Pick<Inbound, 'messageBytes' | 'addressee' | 'admit' | 'keep'>,
): Door {
  return {
    messageBytes: inbound.messageBytes,
    messageMs: MESSAGE_MS,
    lineOctets: LINE_OCTETS,
    begin: (client, mail) => begin(inbound, client, mail),
  }
}

/** One recipient, so that a message has one fate; the others come in transactions of their own. */
function begin(
  inbound: Pick<Inbound, 'addressee' | 'admit' | 'keep'>,
  { ip, helo, tls }: Client,
  mail: MailCommand,
): Arriving {
  const mailFrom = mail.from?.address ?? ''
  let addressee: Addressee | null = null
  return {
    async rcpt({ mailbox }) {
      const found = await inbound.addressee(mailbox)
      if (addressee && addressee.address !== found.address) throw refuse('inbound_one')
      addressee = found
    },
    admit: () => inbound.admit(addressee!, { ip, mailFrom }),
    async take(bytes) {
      const id = await inbound.keep(addressee!, { mailFrom, ip, helo, tls }, bytes)
      return { emailId: null, reply: { code: 250, enhanced: '2.0.0', text: `Received as ${id}` } }
    },
  }
}
