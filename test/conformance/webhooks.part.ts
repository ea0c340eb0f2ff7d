import { expect, test } from 'vitest'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests webhooks.* */
export function webhooksPart(suite: () => Suite): void {
  test('webhooks: creates, lists, reads, updates and removes', async () => {
    const { webhooks } = suite().client
    const endpoint = 'https://app.example.com/hook'
    const made = await taken(webhooks.create({ endpoint, events: ['email.sent', 'contact.created'] }))
    expect(made).toMatchObject({
      object: 'webhook',
      signing_secret: expect.stringMatching(/^whsec_/) as string,
    })
    const { id } = made
    expect(await taken(webhooks.get(id))).toMatchObject({
      object: 'webhook',
      id,
      endpoint,
      status: 'enabled',
      signing_secret: made.signing_secret,
      events: ['email.sent', 'contact.created'],
    })
    expect((await taken(webhooks.list())).data.map((one) => one.id)).toContain(id)
    expect((await taken(webhooks.list({ limit: 1 }))).data).toHaveLength(1)
    const change = { status: 'disabled' as const, endpoint: 'https://app.example.com/other' }
    expect(await taken(webhooks.update(id, change))).toEqual({ object: 'webhook', id })
    expect(await taken(webhooks.get(id))).toMatchObject(change)
    expect(await taken(webhooks.remove(id))).toEqual({ object: 'webhook', id, deleted: true })
  })

  test('webhooks: rejects an unknown ID, an invalid endpoint and an empty list of events', async () => {
    const { webhooks } = suite().client
    expect(await refused(webhooks.get(NOBODY))).toMatchObject({
      statusCode: 404,
      message: 'Webhook not found',
    })
    expect(
      await refused(webhooks.create({ endpoint: 'ftp://app.example.com', events: ['email.sent'] })),
    ).toMatchObject({ statusCode: 422, name: 'validation_error' })
    expect(await refused(webhooks.create({ endpoint: 'https://app.example.com', events: [] }))).toMatchObject(
      { statusCode: 422 },
    )
  })
}
