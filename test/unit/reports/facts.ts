import { parseReply } from '../../../appliance/mail/reply.ts'
import type { Cause } from '../../../appliance/mail/verdict.ts'
import type { DueReport, ReportedDelivery } from '../../../appliance/storage/storage.ts'

/** When the reports of these tests are created. */
export const NOW = Date.UTC(2026, 10, 20, 9, 5, 7)
const HOUR = 3_600_000

/** Returns a cause with a server's reply `text`. */
export function said(text: string, more: Partial<Cause> = {}): Cause {
  const reply = parseReply(text)!
  return {
    phase: 'rcpt',
    host: 'mx.example.net',
    ip: '192.0.2.1',
    reply,
    note: 'mx.example.net refuses.',
    ...more,
  }
}

/** Returns a cause found by Posthaste itself. */
export function found(note: string, more: Partial<Cause> = {}): Cause {
  return { phase: 'connect', host: 'mx.example.net', ip: '192.0.2.1', reply: null, note, ...more }
}

export function delivery(more: Partial<ReportedDelivery> = {}): ReportedDelivery {
  return {
    id: '019b76da-a803-708b-bebe-c89fb19b6d01',
    recipient: 'ada@example.net',
    dsn: { notify: null, orcpt: null },
    state: 'bounced',
    attempts: 1,
    updatedAt: NOW - 1000,
    expiresAt: null,
    cause: said('550 5.1.1 No such user'),
    ...more,
  }
}

export function due(more: Partial<DueReport> = {}): DueReport {
  return {
    kind: 'failed',
    emailId: '019b76da-a803-708b-bebe-c89fb19b6d3a',
    teamId: 'team',
    domainId: 'domain',
    domain: 'example.com',
    subject: 'Invoice 7',
    messageId: '<7@example.com>',
    reportTo: 'app@example.com',
    createdAt: NOW - HOUR,
    dsn: { ret: null, envid: null },
    requireTls: null,
    deliveries: [delivery()],
    ...more,
  }
}

export const ORIGINAL = Buffer.from('From: app@example.com\r\nSubject: Invoice 7\r\n\r\nPay.\r\n')
