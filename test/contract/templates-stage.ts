import { expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage, Template, TemplateContent } from '../../appliance/storage/storage.ts'
import { makeTeam, T0 } from './fixtures.ts'

/** Returns a template with one draft. Not stored. */
export function newTemplate(
  teamId: string,
  more: Partial<Pick<Template, 'name' | 'alias'>> & { content?: Partial<TemplateContent> } = {},
  now = T0,
): Template {
  const { content, ...named } = more
  const [id, versionId] = [newId(now), newId(now)]
  const times = { createdAt: now, updatedAt: now, publishedAt: null }
  const variable = { id: newId(now), key: 'NAME', type: 'string' as const, fallback: null }
  return {
    id,
    teamId,
    name: 'Welcome',
    alias: null,
    revision: 1,
    ...times,
    ...named,
    currentVersionId: versionId,
    publishedVersionId: null,
    version: {
      id: versionId,
      templateId: id,
      author: 'ada@acme.example',
      ...times,
      from: 'Shop <shop@acme.example>',
      subject: 'Hi',
      replyTo: ['a@acme.example'],
      html: '<p>{{{NAME}}}</p>',
      text: null,
      document: null,
      variables: [{ ...variable, createdAt: now, updatedAt: now }],
      ...content,
    },
  }
}

/** Stores a team. Returns helpers for tests of templates. */
export async function templatesStage(storage: Storage) {
  const { team } = await makeTeam(storage)
  const teamId = team.id
  const add = async (more: Parameters<typeof newTemplate>[1] = {}, now = T0): Promise<Template> => {
    const template = newTemplate(teamId, more, now)
    expect(await storage.createTemplate({ template, most: 100 }, now)).toBe('created')
    return template
  }
  const get = (id: string) => storage.getTemplate({ teamId, ref: { id } }, T0)
  const change = (id: string, content: Partial<TemplateContent>, now = T0, more: object = {}) =>
    storage.updateTemplate(
      {
        teamId,
        ref: { id },
        change: { content },
        author: 'bob@acme.example',
        newVersionId: newId(now),
        keep: 3,
        ...more,
      },
      now,
    )
  const publish = (id: string, now = T0) => storage.publishTemplate({ teamId, ref: { id } }, now)
  const versions = async (templateId: string) =>
    (await storage.listTemplateVersions({ teamId, templateId, limit: 50 }, T0)).items
  return { teamId, add, get, change, publish, versions }
}
