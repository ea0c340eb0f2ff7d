import { expect, test } from 'vitest'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

const HTML = '<p>Hi {{{FIRST_NAME|there}}}</p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>'

/** Tests broadcasts.* */
export function broadcastsPart(suite: () => Suite): void {
  test('broadcasts: creates, reads, lists, updates, duplicates, schedules, cancels and removes', async () => {
    const { broadcasts, segments } = suite().client
    const { id: segmentId } = await taken(segments.create({ name: 'Readers' }))
    const { id } = await taken(
      broadcasts.create({
        segmentId,
        from: suite().from,
        subject: 'News',
        name: 'Spring',
        replyTo: ['help@acme.example'],
        previewText: 'First',
        html: HTML,
        text: 'Hi',
      }),
    )
    const read = await taken(broadcasts.get(id))
    expect(read).toMatchObject({
      object: 'broadcast',
      id,
      name: 'Spring',
      segment_id: segmentId,
      audience_id: segmentId,
      status: 'draft',
      subject: 'News',
      reply_to: ['help@acme.example'],
      preview_text: 'First',
      html: HTML,
      text: 'Hi',
      scheduled_at: null,
      sent_at: null,
    })
    expect((await taken(broadcasts.list())).data.map((one) => one.id)).toContain(id)
    expect(await taken(broadcasts.update(id, { name: 'Summer' }))).toMatchObject({ id })
    const copy = await taken(broadcasts.duplicate(id))
    expect(await taken(broadcasts.get(copy.id))).toMatchObject({ name: 'Summer (copy)', status: 'draft' })
    expect(await taken(broadcasts.send(id, { scheduledAt: 'in 1 hour' }))).toMatchObject({ id })
    expect(await taken(broadcasts.get(id))).toMatchObject({ status: 'scheduled' })
    expect(await taken(broadcasts.cancel(id))).toMatchObject({ object: 'broadcast', id })
    expect(await taken(broadcasts.get(id))).toMatchObject({ status: 'draft' })
    const { createElement } = await import('react')
    const component = createElement('a', { href: '{{{UNSUBSCRIBE_URL}}}' }, 'Unsubscribe')
    const { from } = suite()
    const rendered = await taken(broadcasts.create({ segmentId, from, subject: 'React', react: component }))
    expect((await taken(broadcasts.get(rendered.id))).html).toContain('<a href="{{{UNSUBSCRIBE_URL}}}">')
    const sent = await taken(broadcasts.recipients(id, { type: 'sent' }))
    const links = await taken(broadcasts.clickedLinks(id))
    expect([sent, links]).toEqual([1, 2].map(() => ({ object: 'list', has_more: false, data: [] })))
    expect(await taken(broadcasts.remove(copy.id))).toMatchObject({ id: copy.id, deleted: true })
    expect(await refused(broadcasts.get(NOBODY))).toMatchObject({
      statusCode: 404,
      name: 'not_found',
      message: 'Broadcast not found',
    })
  })
}
