import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests templates.*, and emails created from templates. */
export function templatesPart(suite: () => Suite): void {
  test('templates: creates, reads, lists, updates, duplicates and removes', async () => {
    const { templates } = suite().client
    const created = await taken(
      templates.create({
        name: 'Order',
        alias: 'order-1',
        from: suite().from,
        subject: 'Order {{{NUMBER}}}',
        replyTo: ['help@acme.example'],
        html: '<p>{{{ITEM}}}</p>',
        text: '{{{ITEM}}}',
        variables: [
          { key: 'NUMBER', type: 'number', fallbackValue: 1 },
          { key: 'ITEM', type: 'string' },
        ],
      }),
    )
    const { id } = created
    expect(created).toEqual({ object: 'template', id })
    const read = await taken(templates.get(id))
    expect(read).toMatchObject({
      object: 'template',
      id,
      name: 'Order',
      alias: 'order-1',
      status: 'draft',
      published_at: null,
      reply_to: ['help@acme.example'],
      html: '<p>{{{ITEM}}}</p>',
      text: '{{{ITEM}}}',
      variables: [
        { key: 'NUMBER', type: 'number', fallback_value: 1 },
        { key: 'ITEM', type: 'string', fallback_value: null },
      ],
    })
    expect(await taken(templates.get('order-1'))).toEqual(read)
    expect((await taken(templates.list({ limit: 10 }))).data.map((one) => one.id)).toContain(id)
    expect(await taken(templates.update(id, { name: 'Orders', subject: 'New' }))).toEqual(created)
    expect(await taken(templates.publish('order-1'))).toEqual(created)
    const copy = await taken(templates.duplicate(id).publish())
    expect(await taken(templates.get(copy.id))).toMatchObject({ name: 'Orders (copy)', status: 'published' })
    expect(await taken(templates.remove(copy.id))).toEqual({ object: 'template', id: copy.id, deleted: true })
    expect(await refused(templates.get(NOBODY))).toMatchObject({
      statusCode: 404,
      name: 'not_found',
      message: 'Template not found',
    })
  })

  test('templates: publishes and sends components that the client renders', async () => {
    const { templates, emails, batch } = suite().client
    const { from } = suite()
    const { createElement } = await import('react')
    const made = await taken(
      templates
        .create({
          name: 'Component',
          alias: 'component',
          subject: 'For {{{NAME}}}',
          react: createElement('p', null, 'Hi ', createElement('b', null, '{{{NAME}}}')),
          variables: [{ key: 'NAME', type: 'string' }],
        })
        .publish(),
    )
    const to = 'ada@customer.test'
    const template = { id: 'component', variables: { NAME: 'Ada' } }
    const sent = await taken(emails.send({ from, to, template }))
    const email = await taken(emails.get(sent.id))
    expect(email.subject).toBe('For Ada')
    expect(email.html).toContain('<b>Ada</b>')
    expect(email.html).not.toContain('{{{')
    const page = { name: 'Page', react: createElement('p', null, '{{{NAME}}}') }
    const { id: pageId } = await taken(templates.create(page))
    expect((await taken(templates.get(pageId))).html).toContain('<p>{{{NAME}}}</p>')
    const own = createElement('i', null, 'own')
    const { id } = await taken(emails.send({ from, to, subject: 'Own', react: own }))
    expect((await taken(emails.get(id))).html).toContain('<i>own</i>')
    const both = await taken(
      batch.send([
        { from, to, template },
        { from, to, subject: 'x', react: own },
      ]),
    )
    expect(both.data).toHaveLength(2)
    expect(await refused(emails.send({ from, to, template: { id: made.id } }))).toMatchObject({
      statusCode: 422,
      name: 'validation_error',
      message: 'Missing value for the variable `NAME`, which has no fallback value.',
    })
  })

  // resend/react-email, packages/preview-server/src/actions: export-single-template.ts and bulk-import-templates.ts,
  // which send a name and HTML.
  test('templates: accepts uploads from React Email, single and in bulk', async () => {
    const { templates } = suite().client
    const html = '<!DOCTYPE html><html lang="en"><body><!--$--><p>Hi {{{NAME}}}</p><!--/$--></body></html>'
    for (const name of ['welcome', 'reset-password', 'welcome']) {
      const { id } = await taken(templates.create({ name, html }))
      expect(await taken(templates.get(id))).toMatchObject({ name, alias: null, html, status: 'draft' })
    }
  })

  test('mail merge: the three examples in docs/templates.md run unchanged', async () => {
    const page = await readFile(new URL('../../docs/templates.md', import.meta.url), 'utf8')
    const [, section] = /## Mail merge, three ways\n([^]*?)\n## /.exec(page)!
    const examples = [...section!.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code!)
    expect(examples).toHaveLength(3)
    const { client, from } = suite()
    const people = [
      { email: 'ada-merge@customer.test', name: 'Ada' },
      { email: 'bob-merge@customer.test', name: 'Bob' },
    ]
    for (const code of examples) {
      const source = `export const run = async (client, from, people) => {\n${code}\n}`
      const { run } = (await import(
        /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(source)}`
      )) as { run: (...given: unknown[]) => Promise<void> }
      await run(client, from, people)
    }
    const subjects = async () =>
      (await taken(client.emails.list({ limit: 20 }))).data
        .filter(({ to }) => to[0]!.includes('-merge@'))
        .map(({ to, subject }) => `${to[0]!.slice(0, 3)}: ${subject}`)
        .sort()
    await expect
      .poll(subjects)
      .toEqual([
        'ada: News for Ada',
        'ada: Your order, Ada',
        'ada: Your parcel, Ada',
        'bob: News for Bob',
        'bob: Your order, Bob',
        'bob: Your parcel, Bob',
      ])
  })
}
