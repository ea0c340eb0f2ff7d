import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { AutomationGraph } from '../../appliance/mail/automation.ts'
import type { Automation, Storage } from '../../appliance/storage/storage.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { T0 } from './fixtures.ts'
import { newTemplate } from './templates-stage.ts'

export function templateUsesContract(storage: () => Storage): void {
  describe('uses of templates', () => useTests(storage))
}

const sending = (...templates: string[]): AutomationGraph => ({
  steps: [
    { key: 'start', type: 'trigger', config: { event_name: 'joined' } },
    ...templates.map((id, at) => ({
      key: `send${at}`,
      type: 'send_email' as const,
      config: { template: { id } },
    })),
  ],
  connections: [],
})

/** Returns a team with a template, and helpers that use it. */
async function usesStage(storage: Storage) {
  const stage = await broadcastStage(storage)
  const { teamId } = stage
  const template = newTemplate(teamId, { alias: 'hello' })
  expect(await storage.createTemplate({ template, most: 9 }, T0)).toBe('created')
  const automate = async (graph: AutomationGraph, status: Automation['status'] = 'enabled') => {
    const about = { teamId, name: 'Hi', status, stopReason: null, createdAt: T0, updatedAt: T0 }
    const automation: Automation = { ...about, id: newId(T0), versionId: newId(T0), graph }
    expect(await storage.createAutomation({ automation, most: 9 }, T0)).toBe(true)
    return automation.id
  }
  const uses = async (most = 9) => {
    const [found] = await storage.templateUses({ teamId, since: 0, ids: [template.id], most }, T0)
    return [found!.automations, found!.drafts]
  }
  return { ...stage, template, automate, uses }
}

function useTests(storage: () => Storage): void {
  test('counts enabled automations once, by template ID or alias, in their current version', async () => {
    const { teamId, template, automate, uses } = await usesStage(storage())
    expect(await uses()).toEqual([0, 0])
    const id = await automate(sending('hello', template.id, 'hello'))
    await automate(sending('other'))
    await automate(sending())
    await automate(sending('hello'), 'disabled')
    expect(await uses()).toEqual([1, 0])
    const another = await automate(sending(template.id))
    expect([await uses(), await uses(1)]).toEqual([
      [2, 0],
      [1, 0],
    ])
    const update = (graph: AutomationGraph) =>
      storage().updateAutomation({ teamId, id, change: { version: { id: newId(T0), graph } } }, T0)
    expect(await update(sending('other'))).toBe('saved')
    expect(await uses()).toEqual([1, 0])
    const named = () => storage().automationsSending({ teamId, templates: [template.id, 'hello'] }, T0)
    expect(await named()).toEqual(['Hi'])
    expect(await storage().stopAutomation({ teamId, id: another, reason: null, deleted: true }, T0)).toBe(
      true,
    )
    expect([await uses(), await named()]).toEqual([[0, 0], []])
  })

  test('counts drafts and scheduled broadcasts, but not sent ones or those of another template', async () => {
    const { teamId, template, draft, start, uses, get } = await usesStage(storage())
    const of = { templateId: template.id }
    const [one, two, sent] = [await draft(of), await draft(of), await draft(of)]
    await draft({ templateId: newId(T0) })
    await draft()
    expect((await get(one))!.templateId).toBe(template.id)
    await storage().scheduleBroadcast({ teamId, id: two, at: T0 + 1 }, T0)
    expect([await uses(), await uses(2)]).toEqual([
      [0, 3],
      [0, 2],
    ])
    expect(await start(sent)).toBe('done')
    await storage().deleteBroadcast({ teamId, id: one }, T0)
    expect(await uses()).toEqual([0, 1])
  })
}
