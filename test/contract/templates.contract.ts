import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { DAY, newEmail, putArgs, T0 } from './fixtures.ts'
import { newTemplate, templatesStage } from './templates-stage.ts'

/** Tests of templates and their versions. */
export function templatesContract(storage: () => Storage): void {
  describe('templates', () => {
    madeAndFound(storage)
    changed(storage)
    published(storage)
    sent(storage)
  })
}

function madeAndFound(storage: () => Storage): void {
  test('creates templates, and finds them by ID and alias within their team', async () => {
    const { teamId, add, get } = await templatesStage(storage())
    const other = await templatesStage(storage())
    const made = await add({ alias: 'welcome' })
    expect(await get(made.id)).toEqual(made)
    expect(await storage().getTemplate({ teamId, ref: { alias: 'welcome' } }, T0)).toEqual(made)
    expect(await storage().getTemplate({ teamId, ref: { alias: 'Welcome' } }, T0)).toBeUndefined()
    expect(await other.get(made.id)).toBeUndefined()
    expect((await other.add({ alias: 'welcome' })).alias).toBe('welcome')
    const again = newTemplate(teamId, { alias: 'welcome' })
    expect(await storage().createTemplate({ template: again, most: 100 }, T0)).toBe('taken')
    expect(await storage().createTemplate({ template: newTemplate(teamId), most: 1 }, T0)).toBe('too_many')
  })

  test('lists templates newest first, in pages, filtered by text and status', async () => {
    const { teamId, add, publish } = await templatesStage(storage())
    const [one, two] = [await add({ name: 'One 100%' }), await add({ name: 'Two', alias: 'second' })]
    await publish(one.id)
    const list = async (more: object) => {
      const { items, hasMore } = await storage().listTemplates({ teamId, limit: 10, ...more }, T0)
      return [...items.map(({ name }) => name), hasMore]
    }
    expect(await list({})).toEqual(['Two', 'One 100%', false])
    expect(await list({ limit: 1 })).toEqual(['Two', true])
    expect(await list({ limit: 1, after: two.id })).toEqual(['One 100%', false])
    expect(await list({ text: 'ECON' })).toEqual(['Two', false])
    expect(await list({ text: '0%' })).toEqual(['One 100%', false])
    expect(await list({ text: '_' })).toEqual([false])
    expect(await list({ status: 'draft' })).toEqual(['Two', false])
    expect(await list({ status: 'published' })).toEqual(['One 100%', false])
  })
}

function changed(storage: () => Storage): void {
  test('updates a draft in place, and its name and alias', async () => {
    const { add, change, get, versions } = await templatesStage(storage())
    const [one, two] = [await add(), await add({ alias: 'two' })]
    const content = {
      subject: null,
      html: '<p>new</p>',
      text: '',
      document: '{}',
      variables: [],
      replyTo: null,
      from: null,
    }
    const version = { ...one.version, ...content, author: 'bob@acme.example', updatedAt: T0 + 5 }
    const after = { ...one, version, revision: 2, updatedAt: T0 + 5 }
    expect(await change(one.id, content, T0 + 5)).toEqual({ kind: 'saved', template: after })
    expect(await get(one.id)).toEqual(after)
    expect(await versions(one.id)).toHaveLength(1)
    const rename = (alias: string | null, id = one.id) =>
      change(id, {}, T0 + 6, { change: { name: 'New', alias, content: {} } })
    expect(await rename('two')).toEqual({ kind: 'taken' })
    expect(await rename('one')).toMatchObject({ template: { name: 'New', alias: 'one', version } })
    expect(await rename('one')).toMatchObject({ kind: 'saved' })
    expect(await rename(null)).toMatchObject({ template: { alias: null, revision: 5 } })
    expect(await rename('x', newId(T0))).toEqual({ kind: 'absent' })
    expect(await get(two.id)).toEqual(two)
    const foreign = { teamId: newId(T0), ref: { id: one.id } }
    expect(await storage().deleteTemplate(foreign, T0)).toBeUndefined()
  })

  test('rejects a change based on an outdated revision', async () => {
    const { add, change, get } = await templatesStage(storage())
    const { id } = await add()
    expect(await change(id, { html: 'a' }, T0, { revision: 1 })).toMatchObject({ kind: 'saved' })
    expect(await change(id, { html: 'b' }, T0, { revision: 1 })).toEqual({ kind: 'stale' })
    expect(await get(id)).toMatchObject({ revision: 2, version: { html: 'a' } })
  })

  test('deleting a template deletes its versions', async () => {
    const { teamId, add, get, versions } = await templatesStage(storage())
    const { id } = await add({ alias: 'gone' })
    expect(await storage().deleteTemplate({ teamId, ref: { alias: 'gone' } }, T0)).toMatchObject({ id })
    expect(await storage().deleteTemplate({ teamId, ref: { id } }, T0)).toBeUndefined()
    expect([await get(id), await versions(id)]).toEqual([undefined, []])
  })
}

function published(storage: () => Storage): void {
  test('a published version does not change, and the next change creates a draft', async () => {
    const { teamId, add, change, get, publish, versions } = await templatesStage(storage())
    const { id, version } = await add()
    const sent = () => storage().getTemplate({ teamId, ref: { id }, published: true }, T0)
    expect(await sent()).toBeUndefined()
    const first = { publishedVersionId: version.id, publishedAt: T0 + 1, updatedAt: T0 + 1 }
    expect(await publish(id, T0 + 1)).toMatchObject(first)
    expect(await publish(id, T0 + 2)).toMatchObject(first)
    expect(await publish(newId(T0))).toBeUndefined()
    await change(id, { html: 'draft' }, T0 + 3)
    await change(id, { html: 'draft 2' }, T0 + 4)
    expect((await sent())!.version).toEqual({ ...version, publishedAt: T0 + 1 })
    const draft = (await get(id))!
    expect(draft).toMatchObject({
      ...first,
      updatedAt: T0 + 4,
      version: { html: 'draft 2', publishedAt: null },
    })
    expect((await versions(id)).map((one) => [one.id, one.author, one.publishedAt])).toEqual([
      [draft.version.id, 'bob@acme.example', null],
      [version.id, 'ada@acme.example', T0 + 1],
    ])
    const args = { teamId, templateId: id, id: version.id }
    expect(await storage().getTemplateVersion(args, T0)).toEqual({ ...version, publishedAt: T0 + 1 })
    expect(await storage().getTemplateVersion({ ...args, teamId: newId(T0) }, T0)).toBeUndefined()
    await publish(id, T0 + 5)
    expect(await sent()).toMatchObject({ version: { html: 'draft 2' }, publishedAt: T0 + 5 })
  })

  test('deletes the oldest versions, but never the published one', async () => {
    const { add, change, publish, versions } = await templatesStage(storage())
    const { id } = await add()
    for (let at = 1; at <= 5; at++) {
      await publish(id, T0 + at)
      await change(id, { html: `${at}` }, T0 + at)
    }
    const kept = await versions(id)
    expect(kept.map(({ publishedAt }) => publishedAt)).toEqual([null, T0 + 5, T0 + 4])
  })
}

function sent(storage: () => Storage): void {
  test('emails store their template, and are counted for it', async () => {
    const { teamId, add } = await templatesStage(storage())
    const [one, two] = [await add(), await add()]
    const template = { id: one.id, versionId: one.version.id }
    const email = newEmail(teamId, ['a@b.test'], T0, { template })
    await storage().put(putArgs(email), T0)
    await storage().put(putArgs(newEmail(teamId, ['a@b.test'], T0, { template })), T0 - DAY)
    const plain = newEmail(teamId, ['a@b.test'])
    await storage().put(putArgs(plain), T0)
    expect(await storage().getEmail({ teamId, id: email.id }, T0)).toMatchObject({ template })
    expect(await storage().getEmail({ teamId, id: plain.id }, T0)).toMatchObject({ template: null })
    const count = async (since: number, ids: string[], more: { teamId?: string; most?: number } = {}) => {
      const uses = await storage().templateUses({ teamId, since, ids, most: 9, ...more }, T0)
      return new Map(uses.map((use) => [use.templateId, use.emails]))
    }
    expect(await count(T0, [one.id, two.id])).toEqual(
      new Map([
        [one.id, 1],
        [two.id, 0],
      ]),
    )
    expect(await count(0, [one.id])).toEqual(new Map([[one.id, 2]]))
    expect(await count(0, [one.id], { most: 1 })).toEqual(new Map([[one.id, 1]]))
    expect(await count(0, [])).toEqual(new Map())
    expect(await count(0, [one.id], { teamId: newId(T0) })).toEqual(new Map())
  })
}
