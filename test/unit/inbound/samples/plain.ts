/** Plain-text bounces, in each server's format. */
import { CAUSES, mail, MESSAGE_ID, ORIGINAL, type Cause, type Sample } from './sample.ts'

interface Style {
  origin: string
  from: string
  subject: string
  header?: readonly string[]
  /** Includes the returned message, if any. */
  body: (cause: Cause, recipient: string) => string
  messageId?: null
}

const TO = 'ada@recipient.example'
const said = ({ code, status, text }: Cause): string => `${code} ${status} ${text}`

const STYLES: readonly Style[] = [
  {
    origin: 'qmail',
    from: 'MAILER-DAEMON@relay.example',
    subject: 'failure notice',
    body: (cause, to) =>
      `Hi. This is the qmail-send program at relay.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<${to}>:\n192.0.2.9 does not like recipient.\nRemote host said: ${cause.code} ${cause.text} (#${cause.status})\nGiving up on 192.0.2.9.\n\n--- Below this line is a copy of the message.\n\n${ORIGINAL}\n\nHello`,
  },
  {
    origin: 'qsbmf-kin',
    from: 'MAILER-DAEMON@relay.example',
    subject: 'failure notice',
    body: (cause, to) =>
      `Hi. This is the deliver program at relay.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\n\n<${to}>:\n${said(cause)}\n\n--- Enclosed are the original headers of the message.\n\n${ORIGINAL}\n`,
  },
  {
    origin: 'exim-text',
    from: 'Mail Delivery System <Mailer-Daemon@relay.example>',
    subject: 'Mail delivery failed: returning message to sender',
    header: [`X-Failed-Recipients: ${TO}`],
    body: (cause, to) =>
      `This message was created automatically by mail delivery software (Exim).\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  ${to}\n    SMTP error from remote mail server after RCPT TO:<${to}>:\n    host mx.recipient.example [192.0.2.9]: ${said(cause)}\n\n------ This is a copy of the message, including all the headers. ------\n\n${ORIGINAL}\n\nHello`,
  },
  {
    origin: 'gmail-old',
    from: 'Mail Delivery Subsystem <mailer-daemon@googlemail.example>',
    subject: 'Delivery Status Notification (Failure)',
    header: [`X-Failed-Recipients: ${TO}`],
    body: (cause, to) =>
      `Delivery to the following recipient failed permanently:\n\n     ${to}\n\nTechnical details of permanent failure: \nThe error that the other server returned was: ${said(cause)} (state 14).\n\n   ----- Original message -----\n\n${ORIGINAL}\n`,
  },
  {
    origin: 'yahoo-text',
    from: 'MAILER-DAEMON@yahoo.example',
    subject: 'Failure Notice',
    body: (cause, to) =>
      `Sorry, we were unable to deliver your message to the following address.\n\n<${to}>:\nRemote host said: ${said(cause)} [RCPT_TO]\n\n--- Below this line is a copy of the message.\n\n${ORIGINAL}\n`,
  },
  {
    origin: 'sendmail-text',
    from: 'Mail Delivery Subsystem <MAILER-DAEMON@relay.example>',
    subject: 'Returned mail: User unknown',
    body: (cause, to) =>
      `The original message was received at Tue, 24 Nov 2026 10:00:00 GMT\nfrom mail.sender.example [192.0.2.1]\n\n   ----- The following addresses had permanent fatal errors -----\n<${to}>\n\n   ----- Transcript of session follows -----\n... while talking to mx.recipient.example.:\n>>> RCPT To:<${to}>\n<<< ${said(cause)}\n\n   ----- Original message follows -----\n\n${ORIGINAL}\n`,
  },
  {
    origin: 'exchange-2003-text',
    from: 'System Administrator <postmaster@recipient.example>',
    subject: 'Undeliverable: Your order',
    body: (cause, to) =>
      `Your message\n\n  To:      ada\n  Subject: Your order\n  Sent:    Tue, 24 Nov 2026 10:00:00 +0000\n\ndid not reach the following recipient(s):\n\n${to} on Tue, 24 Nov 2026 10:00:01 +0000\n    The message could not be delivered.\n    <mx.recipient.example #${said(cause)}>\n`,
    messageId: null,
  },
  {
    origin: 'exchange-text',
    from: 'Microsoft Exchange <postmaster@recipient.example>',
    subject: 'Unzustellbar: Your order',
    body: (cause, to) =>
      `Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Gruppen:\n\n${to}\nDie Nachricht kann nicht zugestellt werden.\n\nDiagnoseinformationen für Administratoren:\n\n${to}\n#${said(cause)} ##\n`,
    messageId: null,
  },
  {
    origin: 'domino-text',
    from: 'postmaster@recipient.example',
    subject: 'DELIVERY FAILURE: Your order',
    body: (cause, to) =>
      `------- Failure Reasons  --------\n\n${said(cause)}\n${to}\n\n------- Returned Message --------\n\n${ORIGINAL}\n`,
  },
  {
    origin: 'groupwise',
    from: 'Mailer-Daemon@recipient.example',
    subject: 'Message status - undeliverable',
    body: (cause, to) =>
      `The message that you sent was undeliverable to the following:\n\t${to} (${said(cause)})\n\nPossibly truncated original message follows:\n\n${ORIGINAL}\n`,
  },
  {
    origin: 'oracle-text',
    from: 'postmaster@recipient.example',
    subject: 'Delivery Notification: Delivery has failed',
    body: (cause, to) =>
      `Your message cannot be delivered to the following recipients:\n\n  Recipient address: ${to}\n  Reason: ${said(cause)}\n`,
    messageId: null,
  },
  {
    origin: 'opensmtpd-text',
    from: 'Mailer Daemon <MAILER-DAEMON@relay.example>',
    subject: 'Delivery status notification: error',
    body: (cause, to) =>
      `    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.\n\n    An error has occurred while attempting to deliver a message for\n    the following list of recipients:\n\n${to}: ${said(cause)}\n\n    Below is a copy of the original message:\n\n${ORIGINAL}\n`,
  },
  {
    origin: 'dragonfly',
    from: 'MAILER-DAEMON <MAILER-DAEMON@host.example>',
    subject: 'Mail delivery failed',
    body: (cause, to) =>
      `This is the DragonFly Mail Agent v0.13 at host.example.\n\nThere was an error delivering your mail to <${to}>.\n\nmx.recipient.example [192.0.2.9] did not like our RCPT TO:\n${said(cause)}\n\nOriginal message follows.\n\n${ORIGINAL}\n`,
  },
  {
    origin: 'postfix-text',
    from: 'MAILER-DAEMON@relay.example (Mail Delivery System)',
    subject: 'Undelivered Mail Returned to Sender',
    body: (cause, to) =>
      `This is the mail system at host relay.example.\n\nI'm sorry to have to inform you that your message could not\nbe delivered to one or more recipients. It's attached below.\n\n                   The mail system\n\n<${to}>: host mx.recipient.example[192.0.2.9] said: ${said(cause)} (in reply to RCPT TO command)\n`,
    messageId: null,
  },
  {
    origin: 'mdaemon',
    from: 'MDaemon at recipient.example <MDaemon@recipient.example>',
    subject: 'Warning: delivery failed',
    body: (cause, to) =>
      `The attached message had PERMANENT fatal delivery errors!\n\nFailed address: ${to}\n\n--- Session Transcript ---\n--> RCPT To:<${to}>\n<-- ${said(cause)}\n`,
    messageId: null,
  },
  {
    origin: 'interscan',
    from: 'Mail Delivery System <postmaster@gateway.example>',
    subject: 'Mail could not be delivered',
    body: (cause, to) =>
      `Sent >>> RCPT TO: <${to}>\nReceived <<< ${said(cause)}\n\nUnable to deliver message to <${to}>.\n\n************************\n`,
    messageId: null,
  },
  {
    origin: 'generic',
    from: 'postmaster@legacy.example',
    subject: 'Undeliverable mail',
    body: (cause, to) =>
      `Your mail could not be handed over.\n\nRecipient: <${to}>\nReason: ${said(cause)}\n\n---- Original message ----\n${ORIGINAL}\n`,
  },
]

export const PLAIN: readonly Sample[] = STYLES.flatMap((style) =>
  [CAUSES.unknown, CAUSES.full, CAUSES.spam].map((cause) => ({
    origin: style.origin,
    name: cause.name,
    message: mail(
      [
        `From: ${style.from}`,
        'To: x@send.sender.example',
        `Subject: ${style.subject}`,
        ...(style.header ?? []),
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 8bit',
      ],
      style.body(cause, TO),
    ),
    kind: 'bounce' as const,
    recipients: [TO],
    category: cause.category,
    invalid: cause.invalid,
    messageId: style.messageId === undefined ? MESSAGE_ID : null,
  })),
)

const delayed = (origin: string, from: string, subject: string, body: string): Sample => ({
  origin,
  name: 'delayed',
  message: mail([`From: ${from}`, `Subject: ${subject}`, 'Auto-Submitted: auto-replied'], body),
  kind: 'delayed',
  recipients: [TO],
  invalid: false,
})

export const PLAIN_DELAYS: readonly Sample[] = [
  delayed(
    'exim-text',
    'Mail Delivery System <Mailer-Daemon@relay.example>',
    'Warning: message 1abcDE-000001-2f delayed 24 hours',
    `This message was created automatically by mail delivery software.\nA message that you sent has not yet been delivered to one or more of its\nrecipients after more than 24 hours on the queue on relay.example.\n\nThe address to which the message has not yet been delivered is:\n\n  ${TO}\n    Delay reason: 550 5.1.1 user unknown\n\nNo action is required on your part.`,
  ),
  delayed(
    'gmail-old',
    'Mail Delivery Subsystem <mailer-daemon@googlemail.example>',
    'Delivery Status Notification (Delay)',
    `This is an automatically generated Delivery Status Notification\n\nTHIS IS A WARNING MESSAGE ONLY.\n\nYOU DO NOT NEED TO RESEND YOUR MESSAGE.\n\nDelivery to the following recipient has been delayed:\n\n     ${TO}\n\nMessage will be retried for 2 more day(s)`,
  ),
  delayed(
    'sendmail-text',
    'Mail Delivery Subsystem <MAILER-DAEMON@relay.example>',
    'Warning: could not send message for past 4 hours',
    `    **********************************************\n    **      THIS IS A WARNING MESSAGE ONLY      **\n    **  YOU DO NOT NEED TO RESEND YOUR MESSAGE  **\n    **********************************************\n\n   ----- The following addresses had transient non-fatal errors -----\n<${TO}>\n\n   ----- Transcript of session follows -----\n<${TO}>... Deferred: 450 4.1.1 try later`,
  ),
  delayed(
    'opensmtpd-text',
    'Mailer Daemon <MAILER-DAEMON@relay.example>',
    'Delivery status notification: delayed',
    `    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this email.\n\n    A message is delayed for more than 4 hours for the following\n    list of recipients:\n\n${TO}: 451 4.3.0 Temporary failure\n`,
  ),
  delayed(
    'postfix-text',
    'MAILER-DAEMON@relay.example (Mail Delivery System)',
    'Delayed Mail (still being retried)',
    `This is the mail system at host relay.example.\n\n####  THIS IS A WARNING ONLY.  YOU DO NOT NEED TO RESEND YOUR MESSAGE.  ####\n\nYour message could not be delivered for more than 4 hour(s).\n\n<${TO}>: host mx said: 450 4.1.1 user unknown`,
  ),
]
