/** Delivery reports of mail servers. */
import { fields, said, TO, type Style } from './style.ts'

export const SERVER_STYLES: readonly Style[] = [
  {
    origin: 'postfix',
    from: 'MAILER-DAEMON@mx.relay.example (Mail Delivery System)',
    subject: 'Undelivered Mail Returned to Sender',
    header: ['Auto-Submitted: auto-replied'],
    notice: (cause, to) =>
      `This is the mail system at host mx.relay.example.\n\nI'm sorry to have to inform you that your message could not\nbe delivered to one or more recipients.\n\n<${to}>: host mx.recipient.example[192.0.2.9] said: ${said(cause)}\n    (in reply to RCPT TO command)`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; mx.relay.example',
        'X-Postfix-Queue-ID: 4ABC',
        'X-Postfix-Sender: rfc822; x@sender.example',
        'Arrival-Date: Tue, 24 Nov 2026 10:00:00 +0000 (UTC)',
        '',
        `Final-Recipient: rfc822; ${to}`,
        `Original-Recipient: rfc822;${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        'Remote-MTA: dns; mx.recipient.example',
        `Diagnostic-Code: smtp; ${said(cause)} (in reply to RCPT TO`,
        '    command)',
      ),
  },
  {
    origin: 'sendmail',
    from: 'Mail Delivery Subsystem <MAILER-DAEMON@relay.example>',
    subject: 'Returned mail: see transcript for details',
    header: ['Auto-Submitted: auto-generated (failure)'],
    notice: (cause, to) =>
      `The original message was received at Tue, 24 Nov 2026 10:00:00 GMT\n\n   ----- The following addresses had permanent fatal errors -----\n<${to}>\n    (reason: ${said(cause)})\n\n   ----- Transcript of session follows -----\n... while talking to mx.recipient.example.:\n>>> RCPT To:<${to}>\n<<< ${said(cause)}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; relay.example',
        'Received-From-MTA: DNS; mail.sender.example',
        '',
        `Final-Recipient: RFC822; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        'Remote-MTA: DNS; mx.recipient.example',
        `Diagnostic-Code: SMTP; ${said(cause)}`,
        'Last-Attempt-Date: Tue, 24 Nov 2026 10:00:02 GMT',
      ),
    returned: 'text/rfc822-headers',
  },
  {
    origin: 'exim',
    from: 'Mail Delivery System <Mailer-Daemon@relay.example>',
    subject: 'Mail delivery failed: returning message to sender',
    header: [`X-Failed-Recipients: ${TO}`, 'Auto-Submitted: auto-replied'],
    notice: (cause, to) =>
      `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  ${to}\n    host mx.recipient.example [192.0.2.9]\n    SMTP error from remote mail server after RCPT TO:<${to}>:\n    ${said(cause)}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; relay.example',
        '',
        'Action: failed',
        `Final-Recipient: rfc822;${to}`,
        `Status: 5.0.0`,
        'Remote-MTA: dns; mx.recipient.example',
        `Diagnostic-Code: smtp; ${said(cause)}`,
      ),
  },
  {
    origin: 'exchange-2013',
    from: 'Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@recipient.example>',
    subject: 'Undeliverable: Your order',
    header: ['X-MS-Exchange-Message-Is-Ndr: '],
    notice: (cause, to) =>
      `Delivery has failed to these recipients or groups:\n\n${to}\nThe email could not be delivered.\n\nDiagnostic information for administrators:\n\nGenerating server: ex.recipient.example\n\n${to}\nRemote Server returned '${said(cause)}'`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns;ex.recipient.example',
        'Received-From-MTA: dns;relay.example',
        '',
        `Final-Recipient: rfc822;${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp;${said(cause)}`,
      ),
  },
  {
    origin: 'exchange-2007',
    from: 'postmaster@recipient.example',
    subject: 'Undeliverable: Your order',
    notice: (cause, to) =>
      `Delivery has failed to these recipients or distribution lists:\n\n${to}\n\n_____\n\nDiagnostic information for administrators:\n\nGenerating server: ex.recipient.example\n\n${to}\n#${said(cause)} ##\n\nOriginal message headers:\n`,
    status: (_, to) =>
      fields(
        'Reporting-MTA: dns;ex.recipient.example',
        '',
        `Final-recipient: RFC822;${to}`,
        'Action: failed',
        'Status: 5.0.0',
        `X-Display-Name: Ada`,
      ),
  },
  {
    origin: 'microsoft-365',
    from: 'postmaster@recipient.example',
    subject: 'Undeliverable: Your order',
    header: ['X-MS-Exchange-Message-Is-Ndr:', 'Auto-Submitted: auto-replied'],
    notice: (cause, to) =>
      `Your message to ${to} couldn't be delivered.\n\nada wasn't found at recipient.example.\n\nRemote server returned '${said(cause)} [MX1.eur.prod.protection.example 2026-11-24T10:00:00.000Z 08DE]'`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns;MX1.prod.protection.example',
        'Received-From-MTA: dns;mail.sender.example',
        'Arrival-Date: Tue, 24 Nov 2026 10:00:00 +0000',
        '',
        `Final-Recipient: rfc822;${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        `Diagnostic-Code: smtp;${said(cause)}`,
        `X-Display-Name: ${to}`,
      ),
  },
  {
    origin: 'gmail',
    from: 'Mail Delivery Subsystem <mailer-daemon@googlemail.example>',
    subject: 'Delivery Status Notification (Failure)',
    header: [`X-Failed-Recipients: ${TO}`, 'Auto-Submitted: auto-replied'],
    notice: (cause, to) =>
      `** Address not found **\n\nYour message wasn't delivered to ${to} because of an error.\n\nThe response from the remote server was:\n${said(cause)}`,
    status: (cause, to) =>
      fields(
        'Reporting-MTA: dns; googlemail.example',
        'Arrival-Date: Tue, 24 Nov 2026 02:00:00 -0800 (PST)',
        'X-Original-Message-ID: <a@b.example>',
        '',
        `Final-Recipient: rfc822; ${to}`,
        'Action: failed',
        `Status: ${cause.status}`,
        'Remote-MTA: dns; mx.recipient.example. (192.0.2.9, the server for the domain recipient.example.)',
        `Diagnostic-Code: smtp; ${cause.code}-${cause.status} ${cause.text}`,
        ` ${cause.code} ${cause.status} For more information, go to https://support.example/mail 41si`,
        'Last-Attempt-Date: Tue, 24 Nov 2026 02:00:01 -0800 (PST)',
      ),
  },
]
