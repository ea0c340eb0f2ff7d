/** Lines of the conversations that other mail servers have with the public port, as in test/dialogs. */
export const HELLO = ['> HELO mx.customer.example', '< 250 …']
export const NULL = ['> MAIL FROM:<>', '< 250 2.1.0 …']
export const to = (address: string) => [`> RCPT TO:<${address}>`, '< 250 2.1.5 Recipient ok']
export const data = (lines: string[], answer: string) => [
  '> DATA',
  '< 354 …',
  ...lines.map((line) => `> ${line}`),
  '> .',
  `< ${answer}`,
]
export const RECEIVED = '250 2.0.0 Received as …'
export const report = (text = 'No such user.') => ['Subject: Undelivered mail', '', text]

/** Returns a delivery report about the recipient of these emails. */
export const dsn = (filler: string[] = []) => [
  'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  'Undeliverable.',
  ...filler,
  '--b',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.customer.example',
  '',
  'Final-Recipient: rfc822; ada@customer.example',
  'Action: failed',
  'Status: 5.1.1',
  'Diagnostic-Code: smtp; 550 5.1.1 User unknown',
  '--b--',
]
