import { randomUUID } from 'node:crypto'
import { newId } from '../../../appliance/mail/ids.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'

/**
 * Stores an email of the first team to a@one.test and b@two.test. The first was deferred, with control characters in
 * the reply.
 */
export async function storeDeferred(
  storage: Storage,
  { emailId, deliveryId }: { emailId: string; deliveryId: string },
): Promise<void> {
  const now = Date.now()
  const team = (await storage.firstTeam({}, now))!
  const domain = (await storage.findDomain({ teamId: team.id, name: 'sender.test' }, now))!
  const delivery = (id: string, recipient: string) => ({
    id,
    recipient,
    field: 'to' as const,
    dueAt: now,
    expiresAt: now + 1e8,
    suppressed: null,
    dsn: null,
  })
  const email = {
    id: emailId,
    teamId: team.id,
    domainId: domain.id,
    apiKeyId: null,
    via: 'rest' as const,
    from: 'Acme <hi@sender.test>',
    to: ['a@one.test', 'b@two.test'],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Hello',
    content: { place: 'row' as const, html: null, text: 'Hello' },
    headers: [],
    tags: [],
    attachments: [],
    messageId: `<${emailId}@sender.test>`,
    returnPath: `b+${emailId}@send.sender.test`,
    reportTo: null,
    dsn: null,
    requireTls: null,
    scheduledAt: null,
    stream: 'transactional' as const,
    topicId: null,
    pool: 'default',
    message: Buffer.from('Subject: Hello\r\n\r\nHello\r\n'),
    deliveries: [delivery(deliveryId, 'a@one.test'), delivery(newId(now), 'b@two.test')],
  }
  await storage.put({ emails: [email], receipt: null, quota: null }, now)
  const lease = {
    owner: 'test',
    limit: 1,
    room: { 'default/?two.test': 0 },
    roomElse: 1,
    leaseUntil: now + 60_000,
    retryDelays: [60_000],
  }
  const [leased] = await storage.lease(lease, now)
  const reply = { code: 451, enhanced: '4.7.1', text: 'later\u001b]0;owned\u0007' }
  const cause = {
    phase: 'rcpt' as const,
    host: 'mx.one.test',
    ip: '192.0.2.9',
    reply,
    note: 'The server asks to wait.',
  }
  await storage.settle(
    {
      owner: 'test',
      attempt: {
        id: randomUUID(),
        teamId: team.id,
        emailId,
        deliveryIds: [leased!.id],
        startedAt: now,
        endedAt: now + 120,
        transcript: {
          steps: [
            {
              name: 'rcpt',
              host: 'mx.one.test',
              ip: '192.0.2.9',
              sent: 'RCPT TO:<a@one.test>',
              reply,
              note: null,
              at: 80,
              ms: 5,
            },
          ],
          host: 'mx.one.test',
          ip: '192.0.2.9',
          tls: null,
        },
      },
      changes: [
        { deliveryId: leased!.id, state: 'waiting', dueAt: now + 60_000, cause, event: null, report: null },
      ],
    },
    now,
  )
}
