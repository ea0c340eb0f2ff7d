import { expect, test } from 'vitest'
import { createReceivedForwarder } from '../../../appliance/inbound/forward-received.ts'
import { MissingMessage, type ReceivedEmail } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'

test('a received email whose content is lost is skipped, and the next one is forwarded', async () => {
  const due = ['lost', 'kept'].map((id) => ({ teamId: 'team', receivedId: id, to: 'ada@reader.example' }))
  const results: object[] = []
  const email = {
    id: 'kept',
    mailFrom: 'bob@sender.example',
    from: 'bob@sender.example',
    subject: 'Hello',
    replyTo: [],
    receivedFor: ['team@acme.example'],
    authentication: { dmarc: { result: 'pass' } },
    spam: null,
  } as unknown as ReceivedEmail
  const forwarder = createReceivedForwarder({
    storage: {
      nextForward: async () => due[0],
      getReceivedEmail: async () => email,
      getReceivedSource: async ({ id }) => {
        if (id === 'lost') throw new MissingMessage('It should be in /data/messages/lost.')
        return Buffer.from('Subject: Hello\r\n\r\nHello\r\n')
      },
      settleForward: async ({ receivedId, result }) => {
        due.shift()
        results.push({ receivedId, ...result })
      },
    },
    intake: { accept: async () => ({ ids: ['sent'], replayed: false }) as never },
    mime: { read: async () => ({ text: 'Hello' }) as never },
    clock: createTestClock(),
    log: createSilentLogger(),
  })
  forwarder.start()
  await expect.poll(() => results).toHaveLength(2)
  await forwarder.stop()
  expect(results).toEqual([
    { receivedId: 'lost', state: 'skipped', reason: 'The content of the email is missing on this server.' },
    { receivedId: 'kept', state: 'sent', emailId: 'sent' },
  ])
})
