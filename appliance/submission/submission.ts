/** Message submission (RFC 6409): turns messages of authenticated clients and trusted networks into emails. */
import type { Clock } from '../clock/clock.ts'
import { parseArrival, type Intake } from '../intake/intake.ts'
import { needsSmtpUtf8 } from '../mail/address.ts'
import { refuse } from '../mail/refusals.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { RateLimiter, Senders } from '../senders/senders.ts'
import type { Client, MailCommand, Recipient, SubmissionHandler, StoredMessage } from '../smtp/smtp.ts'

export interface SubmissionDeps {
  senders: Pick<Senders, 'authenticate' | 'authorize' | 'callerOf'>
  rateLimiter: RateLimiter
  intake: Pick<Intake, 'accept'>
  mime: Pick<MimeReader, 'read'>
  clock: Clock
  config: {
    hostname: string
    /** Maximum size of a message, in octets. */
    messageBytes: number
    /** Whether to hide the name and address of the submitting client from recipients. */
    hideClient: boolean
  }
}

/** Time limit for a message, in milliseconds. A message of 40 MB takes 21 minutes at 256 kbit/s. */
const MESSAGE_MS = 1_800_000
/** Maximum line length (RFC 5321 §4.5.3.1.6: 1000 octets, including CRLF). */
const LINE_OCTETS = 998

export function createSubmission(deps: SubmissionDeps): SubmissionHandler {
  const { senders, rateLimiter, config } = deps
  return {
    messageBytes: config.messageBytes,
    messageMs: MESSAGE_MS,
    lineOctets: LINE_OCTETS,
    authenticate: (password) => senders.authenticate(password),
    callerOf: (apiKeyId) => senders.callerOf(apiKeyId),
    async begin(client, mail) {
      const caller = client.caller!
      const { allowed } = rateLimiter.take(caller.teamId)
      if (!allowed) throw refuse('rate_limit_exceeded', { limit: rateLimiter.perSecond })
      if (mail.from) await senders.authorize(caller, { domain: mail.from.domain })
      return {
        messageBytes: config.messageBytes,
        rcpt({ mailbox }) {
          if (needsSmtpUtf8(mailbox) && !mail.smtpUtf8) throw refuse('smtp_needs_utf8')
        },
        admit: () => undefined,
        take: (bytes, recipients) => accept(deps, client, mail, recipients, bytes),
      }
    },
  }
}

async function accept(
  { intake, mime, clock, config }: SubmissionDeps,
  client: Client,
  { from, dsn, smtpUtf8, requireTls }: MailCommand,
  recipients: readonly Recipient[],
  bytes: Buffer,
): Promise<StoredMessage> {
  // In the protocol name, S stands for TLS and A for AUTH (RFC 3848; RFC 6531 §4.3).
  const base = smtpUtf8 ? 'UTF8SMTP' : client.extended ? 'ESMTP' : 'SMTP'
  const protocol =
    base === 'SMTP' ? base : `${base}${client.tls === null ? '' : 'S'}${client.trusted ? '' : 'A'}`
  const { hostname, hideClient } = config
  const trace = { hostname, helo: client.helo, ip: client.ip, protocol, hideClient }
  const { teamId } = client.caller!
  const arrival = { teamId, bytes, from, recipients: [...recipients], dsn, requireTls, trace }
  const { submission, ...same } = await parseArrival(arrival, mime, clock.now())
  const { ids } = await intake.accept({ submissions: [submission], scope: 'SMTP', ...same }, client.caller!)
  const id = ids[0]!
  return { emailId: id, reply: { code: 250, enhanced: '2.0.0', text: `Queued as ${id}` } }
}
