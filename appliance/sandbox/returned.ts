/**
 * The mail that the sandbox's recipients send back a few seconds after they accepted a message: bounces to its return
 * path, replies to its author and reports about its domain, as on the real internet. Selected by the local part, as in
 * behaviours.ts.
 */
import { getUnfoldedValue, splitMessage } from '../mail/headers.ts'
import type { CapturedMessage } from './exchanger.ts'
import { createDmarcReport, createTlsReport } from './reports.ts'

/** A message that a recipient sends back. */
export interface ReturnedMessage {
  /** The return path of the message; empty for the null reverse-path. */
  mailFrom: string
  rcptTo: string
  helo: string
  bytes: Buffer
}

/** How a recipient responds to a message. */
export interface ReturnBehavior {
  /** Description of the recipient's behavior. */
  does: string
  /** What happens as a result. */
  outcome: string
  /** The message goes to the `rua` address of the From domain's DMARC record, and isn't sent without one. */
  isReport?: true
  write(about: About): Pick<ReturnedMessage, 'mailFrom' | 'rcptTo'> & { lines: string[] }
}

/** The accepted message, and one of its recipients. */
interface About {
  recipient: string
  host: string
  returnPath: string
  from: string
  subject: string
  messageId: string
  /** Header of the message, without the blank line after it. */
  header: string
  date: string
  /** The domain of the From field. */
  domain: string
  /** Address for reports; empty if the domain requests none. */
  reportsTo: string
  /** IP of the client that delivered the message. */
  ip: string
  /** Unix milliseconds. */
  now: number
}

const HEADER_SHOWN = 16 * 1024

const REPORTED = { does: 'accepts, then sends a delivery report', outcome: 'delivered, then bounced' }

/** Responses by local part. */
export const RETURN_BEHAVIORS: Record<string, ReturnBehavior> = {
  'late-bounce': {
    does: `${REPORTED.does}: 5.1.1`,
    outcome: `${REPORTED.outcome}; the address is suppressed`,
    write: (about) => report(about, 'failed', '5.1.1', '550 5.1.1 Mailbox does not exist'),
  },
  'late-full': {
    does: `${REPORTED.does}: 5.2.2`,
    outcome: `${REPORTED.outcome}; not suppressed`,
    write: (about) => report(about, 'failed', '5.2.2', '552 5.2.2 Mailbox full'),
  },
  'qmail-bounce': {
    does: 'accepts, then sends a bounce in plain text, as qmail writes it',
    outcome: `${REPORTED.outcome}; the address is suppressed`,
    write: qmail,
  },
  delayed: {
    does: 'accepts, then reports a delay',
    outcome: 'delivered; the delay is listed with the email',
    write: (about) => report(about, 'delayed', '4.4.1', '451 4.4.1 Connection timed out'),
  },
  vacation: {
    does: 'accepts, then sends an automatic reply to the return path',
    outcome: 'delivered; nothing changes',
    write: (about) => ({
      mailFrom: '',
      rcptTo: about.returnPath,
      lines: [
        `From: <${about.recipient}>`,
        `To: <${about.returnPath}>`,
        `Subject: Out of office: ${about.subject}`,
        'Auto-Submitted: auto-replied',
        `In-Reply-To: ${about.messageId}`,
        '',
        'I am back on Monday.',
      ],
    }),
  },
  complaint: {
    does: 'accepts, then reports spam (ARF)',
    outcome: 'delivered, then complained; the address is suppressed',
    write: complaint,
  },
  reply: {
    does: 'accepts, then a person replies to the From address',
    outcome: 'delivered; the reply is received if the From domain receives',
    write: (about) => ({
      mailFrom: about.recipient,
      rcptTo: about.from,
      lines: [
        `From: ${about.recipient}`,
        `To: ${about.from}`,
        `Subject: Re: ${about.subject}`,
        `In-Reply-To: ${about.messageId}`,
        `References: ${about.messageId}`,
        '',
        'Thank you!',
      ],
    }),
  },
  'dmarc-report': {
    does: 'accepts, then sends a DMARC report about the From domain',
    outcome: 'delivered; the report is listed with the domain',
    isReport: true,
    write: createDmarcReport,
  },
  'tls-report': {
    does: 'accepts, then sends a TLS report about the From domain',
    outcome: 'delivered; the report is listed with the domain',
    isReport: true,
    write: createTlsReport,
  },
}

/**
 * Returns the message that a recipient sends back for an accepted message; undefined if there is none.
 * @param textsAt returns the TXT records of a name
 */
export async function createReturnedMessage(
  { mailFrom, raw, ip }: Pick<CapturedMessage, 'mailFrom' | 'raw' | 'ip'>,
  recipient: string,
  now: number,
  textsAt: (name: string) => Promise<readonly string[]>,
): Promise<ReturnedMessage | undefined> {
  const local = recipient.slice(0, recipient.lastIndexOf('@')).toLowerCase()
  const word = Object.keys(RETURN_BEHAVIORS).find(
    (name) => local === name || local.startsWith(`${name}+`) || local.startsWith(`${name}-`),
  )
  // Nothing is sent back for a message with a null reverse-path (RFC 5321 §6.1).
  if (word === undefined || mailFrom === '') return undefined
  const { fields, bodyOffset } = splitMessage(raw)
  const value = (name: string) => {
    const field = fields.find((one) => one.name.toLowerCase() === name)
    return field === undefined ? '' : getUnfoldedValue(field).trim()
  }
  const host = `mx1.${recipient.slice(recipient.lastIndexOf('@') + 1)}`
  const date = new Date(now).toUTCString().replace('GMT', '+0000')
  const from = /<([^<>]*)>\s*$/.exec(value('from'))?.[1] ?? value('from')
  const header = raw.toString('latin1', 0, Math.min(bodyOffset, HEADER_SHOWN)).trimEnd()
  const chosen = RETURN_BEHAVIORS[word]!
  const domain = from.slice(from.lastIndexOf('@') + 1).toLowerCase()
  const texts = chosen.isReport ? await textsAt(`_dmarc.${domain}`) : []
  const reportsTo = texts.map((text) => /\brua=mailto:([^\s,;!]+)/i.exec(text)?.[1]).find(Boolean) ?? ''
  if (chosen.isReport && reportsTo === '') return undefined
  const about = { recipient, host, returnPath: mailFrom, from, date, header, domain, reportsTo, ip, now }
  const { lines, ...to } = chosen.write({
    ...about,
    subject: value('subject'),
    messageId: value('message-id'),
  })
  const id = `<${now}.${Math.random().toString(36).slice(2)}@${host}>`
  const text = [`Date: ${date}`, `Message-ID: ${id}`, 'MIME-Version: 1.0', ...lines, ''].join('\r\n')
  return { ...to, helo: host, bytes: Buffer.from(text, 'latin1') }
}

/** Creates a delivery report (RFC 3464). */
function report(about: About, action: 'failed' | 'delayed', status: string, diagnostic: string) {
  const { recipient, host, returnPath, header, date } = about
  const words = action === 'failed' ? 'could not be delivered' : 'has not been delivered yet'
  return {
    mailFrom: '',
    rcptTo: returnPath,
    lines: [
      `From: Mail Delivery System <MAILER-DAEMON@${host}>`,
      `To: <${returnPath}>`,
      `Subject: Delivery report for ${recipient}`,
      'Auto-Submitted: auto-replied',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=report',
      '',
      '--report',
      'Content-Type: text/plain',
      '',
      `Your message to <${recipient}> ${words}: ${diagnostic}`,
      '',
      '--report',
      'Content-Type: message/delivery-status',
      '',
      `Reporting-MTA: dns; ${host}`,
      `Arrival-Date: ${date}`,
      '',
      `Final-Recipient: rfc822; ${recipient}`,
      `Action: ${action}`,
      `Status: ${status}`,
      `Diagnostic-Code: smtp; ${diagnostic}`,
      '',
      '--report',
      'Content-Type: text/rfc822-headers',
      '',
      header,
      '',
      '--report--',
    ],
  }
}

/** Creates a bounce in qmail's format (QSBMF). */
function qmail({ recipient, host, returnPath, header }: About) {
  return {
    mailFrom: '',
    rcptTo: returnPath,
    lines: [
      `From: MAILER-DAEMON@${host}`,
      `To: ${returnPath}`,
      'Subject: failure notice',
      '',
      `Hi. This is the qmail-send program at ${host}.`,
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      "This is a permanent error; I've given up. Sorry it didn't work out.",
      '',
      `<${recipient}>:`,
      'Sorry, no mailbox here by that name. (#5.1.1)',
      '',
      '--- Below this line is a copy of the message.',
      '',
      `Return-Path: <${returnPath}>`,
      header,
    ],
  }
}

/** Creates a feedback report (RFC 5965). */
function complaint({ recipient, host, returnPath, header, date }: About) {
  return {
    mailFrom: '',
    rcptTo: returnPath,
    lines: [
      `From: <feedback@${host}>`,
      `To: <${returnPath}>`,
      'Subject: Spam complaint',
      'Content-Type: multipart/report; report-type=feedback-report; boundary=report',
      '',
      '--report',
      'Content-Type: text/plain',
      '',
      `${recipient} reported a message as spam.`,
      '',
      '--report',
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: abuse',
      'Version: 1',
      'User-Agent: Sandbox/1',
      `Original-Rcpt-To: <${recipient}>`,
      `Arrival-Date: ${date}`,
      '',
      '--report',
      'Content-Type: text/rfc822-headers',
      '',
      `Return-Path: <${returnPath}>`,
      header,
      '',
      '--report--',
    ],
  }
}
