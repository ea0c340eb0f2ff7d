import { expect, test } from 'vitest'
import { Resend } from 'resend'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests domains.*, apiKeys.* and suppressions.* */
export function sendersPart(suite: () => Suite): void {
  test('domains: creates, lists, reads, updates, verifies and removes', async () => {
    const { domains } = suite().client
    const made = await taken(
      domains.create({
        name: 'conform.example',
        region: 'eu-west-1',
        customReturnPath: 'bounces',
        openTracking: true,
        tls: 'enforced',
      }),
    )
    expect(made).toMatchObject({ name: 'conform.example', status: 'not_started', region: 'eu-west-1' })
    expect(made.records.map(({ record }) => record)).toEqual(expect.arrayContaining(['SPF', 'DKIM']))
    const { id } = made
    expect(await taken(domains.get(id))).toMatchObject({ object: 'domain', id, open_tracking: true })
    expect((await taken(domains.list())).data.map((one) => one.id)).toContain(id)
    expect((await taken(domains.list({ limit: 1 }))).data).toHaveLength(1)
    expect(await taken(domains.update({ id, clickTracking: true, tls: 'opportunistic' }))).toEqual({
      object: 'domain',
      id,
    })
    expect(await taken(domains.get(id))).toMatchObject({ click_tracking: true })
    expect(await taken(domains.verify(id))).toEqual({ object: 'domain', id })
    expect(await taken(domains.remove(id))).toEqual({ object: 'domain', id, deleted: true })
    expect(await refused(domains.get(id))).toMatchObject({ statusCode: 404, message: 'Domain not found' })
  })

  test('domains: rejects a duplicate name, an invalid region and an unknown ID', async () => {
    const { client, appliance } = suite()
    expect(await refused(client.domains.create({ name: appliance.domain }))).toMatchObject({
      statusCode: 400,
      name: 'validation_error',
    })
    const region = 'mars-north-1' as 'us-east-1'
    expect(await refused(client.domains.create({ name: 'x.example', region }))).toMatchObject({
      statusCode: 422,
      name: 'invalid_region',
    })
    expect(await refused(client.domains.verify(NOBODY))).toMatchObject({ statusCode: 404 })
  })

  test('apiKeys: creates, uses, lists, renames and removes', async () => {
    const { client, appliance } = suite()
    const { id, token } = await taken(
      client.apiKeys.create({ name: 'Conformance', permission: 'sending_access' }),
    )
    expect(token).toMatch(/^re_/)
    const other = new Resend(token, { baseUrl: appliance.url })
    expect(await refused(other.domains.list())).toMatchObject({ statusCode: 401, name: 'restricted_api_key' })
    const email = { from: suite().from, to: 'ada@customer.test', subject: 'By key', text: 'x' }
    await taken(other.emails.send(email))
    expect(await taken(client.apiKeys.update(id, { name: 'Renamed' }))).toEqual({ object: 'api_key', id })
    const list = await taken(client.apiKeys.list())
    expect(list.data.find((key) => key.id === id)).toMatchObject({ name: 'Renamed' })
    expect(await taken(client.apiKeys.remove(id))).toMatchObject({ object: 'api_key', id, deleted: true })
    expect(await refused(other.emails.send(email))).toMatchObject({
      statusCode: 403,
      name: 'invalid_api_key',
    })
    expect(await refused(client.apiKeys.remove(id))).toMatchObject({
      statusCode: 404,
      message: 'API key not found',
    })
  })

  test('apiKeys: rejects an unknown permission', async () => {
    const permission = 'root' as 'full_access'
    expect(await refused(suite().client.apiKeys.create({ name: 'x', permission }))).toMatchObject({
      statusCode: 422,
      name: 'invalid_access',
    })
  })

  test('suppressions: adds, finds by ID and address, lists and removes', async () => {
    const { suppressions } = suite().client
    const email = 'plus+sign@customer.test'
    const { id } = await taken(suppressions.add({ email }))
    expect(await taken(suppressions.get(id))).toMatchObject({
      object: 'suppression',
      id,
      email,
      origin: 'manual',
    })
    expect(await taken(suppressions.get(email))).toMatchObject({ id })
    const list = await taken(suppressions.list({ origin: 'manual', limit: 100 }))
    expect(list.data.map((one) => one.id)).toContain(id)
    expect((await taken(suppressions.list({ origin: 'bounce' }))).data).toEqual([])
    expect(await taken(suppressions.remove(email))).toMatchObject({
      object: 'suppression',
      id,
      deleted: true,
    })
    expect(await refused(suppressions.get(id))).toMatchObject({ statusCode: 404 })
  })

  test('suppressions.batch: adds several addresses, and removes them by ID and by address', async () => {
    const { suppressions } = suite().client
    const emails = ['one@batch.test', 'two@batch.test']
    const added = await taken(suppressions.batch.add({ emails }))
    expect(added.data).toHaveLength(2)
    const byId = await taken(suppressions.batch.remove({ ids: [added.data[0]!.id] }))
    expect(byId.data).toMatchObject([{ object: 'suppression', deleted: true }])
    const byEmail = await taken(suppressions.batch.remove({ emails: ['two@batch.test'] }))
    expect(byEmail.data.map(({ id }) => id)).toEqual([added.data[1]!.id])
  })

  test('suppressions: accepts an email to a suppressed address and does not send it', async () => {
    const { client, from } = suite()
    await taken(client.suppressions.add({ email: 'gone@customer.test' }))
    const { id } = await taken(
      client.emails.send({ from, to: 'Gone@customer.test', subject: 'x', text: 'x' }),
    )
    expect(await taken(client.emails.get(id))).toMatchObject({ last_event: 'suppressed' })
  })
}
