/** Delivery reports of mailbox providers and gateways, and unusual ones. */
import { fields, said, type Style } from './style.ts'

export const PROVIDER_STYLES: readonly Style[] = [
  {
    origin: 'yahoo',
    from: 'MAILER-DAEMON@yahoo.example',
    subject: 'Failure Notice',
    notice: (cause, to) =>
      `Sorry, we were unable to deliver your message to the following address.\n\n<${to}>:\n${cause.code}: ${cause.status} ${cause.text}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; mta.yahoo.example',
        '',
        `Original-Recipient: rfc822; ${to}`,
        `Final-Recipient: rfc822; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
  },
  {
    origin: 'icloud',
    from: 'postmaster@mail.icloud.example',
    subject: 'Delivery Notification: Delivery has failed',
    notice: (cause, to) =>
      `This report relates to a message you sent with the following header fields:\n\n  Message-id: <a@b.example>\n\nYour message cannot be delivered to the following recipients:\n\n  Recipient address: ${to}\n  Reason: Remote SMTP server has rejected address\n  Diagnostic code: smtp;${said(cause)}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns;mail.icloud.example (tcp-daemon)',
        'Arrival-date: Tue, 24 Nov 2026 10:00:00 +0000 (GMT)',
        '',
        `Original-recipient: rfc822;${to}`,
        `Final-recipient: rfc822;${to}`,
        'Action: failed',
        `Status: ${cause.status} (Remote SMTP server has rejected address)`,
        'Remote-MTA: dns;mx.recipient.example (TCP|192.0.2.1|4711|192.0.2.9|25)',
        `Diagnostic-code: smtp;${said(cause)}`,
      ),
    returned: 'text/rfc822-headers',
  },
  {
    origin: 'domino-3464',
    from: 'Mail Router <postmaster@recipient.example>',
    subject: 'DELIVERY FAILURE: Your order',
    notice: (cause, to) =>
      `Your message\n\n  Subject: Your order\n\nwas not delivered to:\n\n  ${to}\n\nbecause:\n\n  ${said(cause)}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns;domino.recipient.example',
        '',
        `Final-Recipient: rfc822;${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: X-Notes; ${cause.text}`,
      ),
  },
  {
    origin: 'opensmtpd',
    from: 'Mailer Daemon <MAILER-DAEMON@relay.example>',
    subject: 'Delivery status notification: error',
    notice: (cause, to) =>
      `    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this email.\n\n    An error has occurred while attempting to deliver a message for\n    the following list of recipients:\n\n${to}: ${said(cause)}\n\n    Below is a copy of the original message:`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; relay.example',
        '',
        `Final-Recipient: rfc822; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
  },
  {
    origin: 'courier',
    from: '"Courier mail server at relay.example" <@>',
    subject: 'NOTICE: mail delivery status.',
    notice: (cause, to) =>
      `This is a delivery status notification from relay.example,\nrunning the Courier mail server.\n\nUNDELIVERABLE MAIL\n\n<${to}>:\n     mx.recipient.example [192.0.2.9]:\n    >>> RCPT TO:<${to}>\n    <<< ${said(cause)}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; relay.example',
        'Arrival-Date: Tue, 24 Nov 2026 10:00:00 +0000',
        '',
        `Final-Recipient: rfc822; ${to}`,
        'Action: failed',
        `Status: 5.0.0`,
        'Remote-MTA: dns; mx.recipient.example [192.0.2.9]',
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
  },
  {
    origin: 'amazon-ses',
    from: 'MAILER-DAEMON@email.amazonses.example',
    subject: 'Delivery Status Notification (Failure)',
    notice: (_, to) =>
      `An error occurred while trying to deliver the mail to the following recipients:\n${to}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; a1-23.smtp-out.amazonses.example',
        '',
        'Action: failed',
        `Final-Recipient: rfc822; ${to}`,
        `Diagnostic-Code: smtp; ${said(cause)}`,
        `Status: ${cause.status}`,
      ),
  },
  {
    origin: 'mimecast',
    from: 'MAILER-DAEMON <mailer-daemon@mimecast.example>',
    subject: '[Postmaster] Email Delivery Failure',
    notice: (_, to) =>
      `This is a system-generated message to inform you that your email could not be delivered to the intended recipient.\n\nEmail address failed to deliver to: ${to}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; mimecast.example',
        '',
        `Original-Recipient: rfc822; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: ${said(cause)}`,
      ),
  },
  {
    origin: 'proofpoint',
    from: 'Mail Delivery Subsystem <MAILER-DAEMON@pphosted.example>',
    subject: 'Returned mail: see transcript for details',
    notice: (_, to) => `   ----- The following addresses had permanent fatal errors -----\n<${to}>`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; m0.pphosted.example',
        `Final-Recipient: RFC822; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: SMTP; ${said(cause)}`,
      ),
  },
  {
    origin: 'barracuda',
    from: 'postmaster@barracuda.example',
    subject: '**Message you sent blocked by our bulk email filter**',
    notice: (_, to) => `Your message to: ${to}\nwas blocked by our filter.`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; barracuda.example',
        'Received-From-MTA: smtp; mail.sender.example ([192.0.2.1])',
        '',
        `Final-Recipient: rfc822; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
    returned: 'text/rfc822-headers',
  },
  {
    origin: 'mail-ru',
    from: 'mailer-daemon@corp.mail.example',
    subject: 'Mail failure.',
    notice: (_, to) =>
      `Это письмо создано автоматически сервером, отвечать на него не нужно.\n\nК сожалению, Ваше письмо не может быть доставлено:\n\n${to}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; corp.mail.example',
        '',
        `Final-Recipient: rfc822;${to}`,
        'Action: failed',
        `Status: ${said(cause)}`,
      ),
  },
  {
    origin: 'gmx',
    from: '"GMX Mailer Daemon" <mailer-daemon@gmx.example>',
    subject: 'Mail delivery failed: returning message to sender',
    notice: (cause, to) =>
      `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to\none or more of its recipients. This is a permanent error.\n\nThe following address failed:\n\n${to}:\nSMTP error from remote server for RCPT TO command, host: mx.recipient.example reason: ${said(cause)}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns;mout.gmx.example',
        '',
        `Final-Recipient: rfc822;${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
  },
  {
    origin: 'zimbra',
    from: 'MAILER-DAEMON@zimbra.recipient.example (Mail Delivery System)',
    subject: 'Undelivered Mail Returned to Sender',
    notice: (cause, to) =>
      `This is the mail system at host zimbra.recipient.example.\n\n<${to}>: ${said(cause)}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; zimbra.recipient.example',
        '',
        `Final-Recipient: rfc822; ${to}`,
        `Original-Recipient: rfc822;${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: X-Postfix; ${cause.text}`,
      ),
  },
  {
    origin: 'x-status-type',
    from: 'MAILER-DAEMON@mobile.example',
    subject: 'Mail System Error - Returned Mail',
    notice: () => 'Your message could not be delivered.',
    statusType: 'message/xdelivery-status',
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; mobile.example',
        '',
        `Final-Recipient: rfc822; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
  },
  {
    origin: 'misdeclared',
    from: 'Mail Delivery System <MAILER-DAEMON@appliance.example>',
    subject: 'Undeliverable message',
    notice: () => 'Your message could not be delivered.',
    statusType: 'text/plain',
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; appliance.example',
        '',
        `Final-Recipient: rfc822; ${to}`,
        'Action: failure',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
    returned: null,
  },
  {
    origin: 'global',
    from: 'MAILER-DAEMON@relay.example',
    subject: 'Undelivered Mail Returned to Sender',
    notice: () => 'Your message could not be delivered.',
    statusType: 'message/global-delivery-status',
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; relay.example',
        '',
        `Final-Recipient: utf-8; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
    returned: 'message/global-headers',
  },
]
