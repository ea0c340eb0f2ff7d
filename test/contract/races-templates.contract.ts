import { describe, expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { T0 } from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'
import { newTemplate, templatesStage } from './templates-stage.ts'

/** Races about templates. */
export function racesOfTemplates(race: Racing): void {
  describe('templates', () => {
    race('only one template of a team gets an alias', async ({ storage, atOnce }) => {
      const { teamId, add } = await templatesStage(storage)
      const third = await add()
      const create = (at: Storage) =>
        at.createTemplate({ template: newTemplate(teamId, { alias: 'one' }), most: 9 }, T0)
      expect(sorted(await atOnce(create, create))).toEqual(['created', 'taken'])
      const rename = (id: string) => (at: Storage) =>
        at.updateTemplate(
          {
            teamId,
            ref: { id },
            change: { alias: 'two', content: {} },
            author: '',
            newVersionId: newId(T0),
            keep: 9,
          },
          T0,
        )
      const fourth = await add()
      const answers = await atOnce(rename(third.id), rename(fourth.id))
      expect(sorted(answers.map(({ kind }) => kind))).toEqual(['saved', 'taken'])
    })

    race('a team has no more templates than the limit', async ({ storage, atOnce }) => {
      const { teamId } = await templatesStage(storage)
      const create = (at: Storage) => at.createTemplate({ template: newTemplate(teamId), most: 1 }, T0)
      expect(sorted(await atOnce(create, create))).toEqual(['created', 'too_many'])
    })

    race('rejects the second of two changes of one revision as stale', async ({ storage, atOnce }) => {
      const { teamId, add, publish, versions } = await templatesStage(storage)
      const { id } = await add()
      await publish(id)
      const change = (at: Storage) =>
        at.updateTemplate(
          {
            teamId,
            ref: { id },
            change: { content: { html: 'x' } },
            author: '',
            revision: 1,
            newVersionId: newId(T0),
            keep: 9,
          },
          T0,
        )
      expect(sorted((await atOnce(change, change)).map(({ kind }) => kind))).toEqual(['saved', 'stale'])
      expect(await versions(id)).toHaveLength(2)
    })

    race('publishing during a change publishes one complete version', async ({ storage, atOnce }) => {
      const { teamId, add, versions } = await templatesStage(storage)
      const { id } = await add()
      await atOnce(
        (at) => at.publishTemplate({ teamId, ref: { id } }, T0),
        (at) =>
          at.updateTemplate(
            {
              teamId,
              ref: { id },
              change: { content: { html: 'x' } },
              author: '',
              newVersionId: newId(T0),
              keep: 9,
            },
            T0,
          ),
      )
      const sent = (await storage.getTemplate({ teamId, ref: { id }, published: true }, T0))!
      const draft = (await storage.getTemplate({ teamId, ref: { id } }, T0))!
      expect(draft.version.html).toBe('x')
      // If publishing came first, the change created a draft. If the change came first, it was published.
      const changedFirst = sent.version.html === 'x'
      expect(await versions(id)).toHaveLength(changedFirst ? 1 : 2)
      expect(draft.currentVersionId === sent.version.id).toBe(changedFirst)
    })

    race('are deleted once, with all versions', async ({ storage, atOnce }) => {
      const { teamId, add, versions } = await templatesStage(storage)
      const { id } = await add()
      const remove = (at: Storage) => at.deleteTemplate({ teamId, ref: { id } }, T0)
      const answers = await atOnce(remove, remove)
      expect(answers.filter((one) => one !== undefined)).toHaveLength(1)
      expect(await versions(id)).toEqual([])
    })
  })
}
