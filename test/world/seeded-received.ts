import { newId } from '../../appliance/mail/ids.ts'
import type { Authentication } from '../../appliance/mail/inbound.ts'
import type { TestAppliance } from './appliance.ts'

const verdict = (result: 'pass' | 'fail' | 'none', domain: string | null = 'bigmail.example') => ({
  result,
  domain,
})
const GENUINE: Authentication = {
  spf: verdict('pass'),
  dkim: verdict('pass'),
  dmarc: verdict('pass'),
  arc: verdict('none', null),
}
const FORGED: Authentication = {
  spf: verdict('fail'),
  dkim: verdict('none', null),
  dmarc: verdict('fail'),
  arc: verdict('pass', null),
}

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const HTML = `<p>Dear booksellers,</p><p>the parcel came <b>today</b>. <img src="cid:dot" alt=""> Thank you!</p>
<script>document.title = 'run'</script><img src="https://tracker.example/pixel.gif" alt="">`

const message = (from: string, to: string, subject: string): Buffer =>
  Buffer.from(
    [
      `Return-Path: <ada@bigmail.example>`,
      `From: ${from}`,
      `To: ${to}`,
      `Subject: ${subject}`,
      'Message-ID: <1@bigmail.example>',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=m',
      '',
      '--m',
      'Content-Type: text/html; charset=utf-8',
      '',
      HTML,
      '--m',
      'Content-Type: image/png',
      'Content-ID: <dot>',
      'Content-Disposition: inline',
      'Content-Transfer-Encoding: base64',
      '',
      PIXEL,
      '--m--',
      '',
    ].join('\r\n'),
  )

/**
 * Stores two received emails for a domain: a reply to `answers`, and a forged one. Returns the ID of the reply.
 * @param domain name and ID of a domain of the team
 */
export async function seedReceived(
  { appliance: { storage }, teamId }: TestAppliance,
  domain: { id: string; name: string },
  answers: string | null,
  now: number,
): Promise<string> {
  const make = (
    subject: string,
    from: string,
    authentication: Authentication,
    answered: string | null,
    flagged: boolean,
  ) => {
    const bytes = message(from, `orders@${domain.name}`, subject)
    return {
      id: newId(now),
      teamId,
      domainId: domain.id,
      receivedAt: now,
      mailFrom: 'ada@bigmail.example',
      receivedFor: [`orders@${domain.name}`],
      ip: '192.0.2.25',
      helo: 'mx.bigmail.example',
      tls: 'TLSv1.3',
      size: bytes.length,
      from,
      to: [`orders@${domain.name}`],
      cc: [],
      bcc: [],
      replyTo: [],
      subject,
      messageId: '<1@bigmail.example>',
      authentication,
      answers: answered,
      spam: {
        flagged,
        score: flagged ? 7.9 : 0.4,
        rejectScore: 15,
        symbols: flagged ? ['FORGED_SENDER', 'DMARC_POLICY_QUARANTINE'] : ['MIME_GOOD'],
      },
      attachments: [
        {
          id: newId(now),
          filename: 'dot.png',
          contentType: 'image/png',
          contentId: 'dot',
          size: 70,
          disposition: 'inline' as const,
        },
      ],
      bytes: new Uint8Array(bytes),
    }
  }
  const answer = make(
    'Re: Your order 40012 is on its way',
    'Ada Marsh <ada@bigmail.example>',
    GENUINE,
    answers,
    false,
  )
  const forged = make('Your invoice is overdue', 'Accounts <boss@bigmail.example>', FORGED, null, true)
  const limits = { messages: 1000, bytes: 1_000_000_000 }
  await storage.keepReceivedEmails({ emails: [answer, forged], limits }, now)
  return answer.id
}
