import { expect, test, vi } from 'vitest'
import { refused, taken, type Suite } from './suite.ts'

/** Tests contacts.imports.* */
export function importsPart(suite: () => Suite): void {
  test('contact imports: creates, reads and lists; applies the column map, segments and topics', async () => {
    const { contacts, segments, topics } = suite().client
    const segment = await taken(segments.create({ name: 'Imported' }))
    const topic = await taken(topics.create({ name: 'News', defaultSubscription: 'opt_out' }))
    const csv = 'Mail;Name;Plan\nimport-1@customer.test;Ada;pro\nimport-2@customer.test;Bob;\nnobody;;\n'
    const made = await taken(
      contacts.imports.create({
        file: new Blob([csv], { type: 'text/csv' }),
        columnMap: {
          email: 'Mail',
          firstName: 'Name',
          properties: { imported_plan: { column: 'Plan', type: 'string' } },
        },
        onConflict: 'upsert',
        segments: [{ id: segment.id }],
        topics: [{ id: topic.id, subscription: 'opt_in' }],
      }),
    )
    expect(made).toEqual({ object: 'contact_import', id: expect.any(String) as string })
    await vi.waitFor(
      async () => expect(await taken(contacts.imports.get(made.id))).toMatchObject({ status: 'completed' }),
      30_000,
    )
    const read = await taken(contacts.imports.get(made.id))
    expect(read).toMatchObject({
      object: 'contact_import',
      id: made.id,
      counts: { total: 3, created: 2, updated: 0, skipped: 0, failed: 1 },
    })
    expect(read.completed_at).not.toBeNull()
    const list = await taken(contacts.imports.list({ status: 'completed' }))
    expect(list.data.map(({ id }) => id)).toContain(made.id)
    const contact = await taken(contacts.get({ email: 'import-1@customer.test' }))
    expect(contact).toMatchObject({
      first_name: 'Ada',
      properties: { imported_plan: { type: 'string', value: 'pro' } },
    })
    const { data } = await taken(contacts.list({ segmentId: segment.id }))
    expect(data).toHaveLength(2)
  })

  test('contact imports: rejects a file without an email column', async () => {
    const { contacts } = suite().client
    expect(await refused(contacts.imports.create({ file: new Blob(['name\nAda\n']) }))).toMatchObject({
      statusCode: 422,
      name: 'validation_error',
      message: 'CSV missing required email column',
    })
    expect(await refused(contacts.imports.get('00000000-0000-4000-8000-000000000000'))).toMatchObject({
      statusCode: 404,
    })
  })
}
