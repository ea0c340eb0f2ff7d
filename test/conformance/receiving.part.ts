import { expect, test } from 'vitest'
import { openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import { newId } from '../../appliance/mail/ids.ts'
import { newReceived } from '../contract/received-emails.contract.ts'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests emails.receiving.* */
export function receivingPart(suite: () => Suite): void {
  /** Stores a received email directly, because the daemon's inbound port isn't open in tests. */
  async function receive(): Promise<string> {
    const { client, appliance } = suite()
    const { data: domains } = await taken(client.domains.list())
    const { id: domainId, name } = domains.find((one) => one.name === appliance.domain)!
    await taken(client.domains.update({ id: domainId, capabilities: { receiving: 'enabled' } }))
    const storage = await openSqlite({ dataDir: appliance.config.data_dir })
    const now = Date.now()
    const file = { id: newId(now), filename: 'a.txt', contentType: 'text/plain', contentId: null, size: 2 }
    const email = newReceived(
      { teamId: appliance.teamId, domainId, name },
      { attachments: [{ ...file, disposition: 'attachment' }] },
      now,
    )
    const limits = { messages: 100, bytes: 1_000_000 }
    expect(await storage.keepReceivedEmails({ emails: [email], limits }, now)).toBe('kept')
    await storage.close()
    return email.id
  }

  test('emails.receiving: lists and reads emails and their attachments', async () => {
    const { receiving } = suite().client.emails
    const id = await receive()
    const list = await taken(receiving.list({ limit: 1 }))
    expect(list!.data).toMatchObject([{ id, subject: 'Hello', from: 'Ada <ada@x.example>' }])
    expect(await taken(receiving.get(id))).toMatchObject({
      object: 'email',
      id,
      text: expect.stringMatching(/^hi/) as string,
    })
    const { data } = await taken(receiving.attachments.list({ emailId: id }))
    expect(data).toMatchObject([{ filename: 'a.txt', content_type: 'text/plain' }])
    const one = await taken(receiving.attachments.get({ emailId: id, id: data[0]!.id }))
    expect(one).toMatchObject({ object: 'attachment', filename: 'a.txt' })
  })

  test('emails.receiving.get: returns 404 for an unknown email', async () => {
    expect(await refused(suite().client.emails.receiving.get(NOBODY))).toMatchObject({ statusCode: 404 })
  })
}
