import { expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { act } from './audience-stage.ts'
import { automationStage, done, newAutomation } from './automations.contract.ts'
import { newCustomEvent } from './custom-events.contract.ts'
import { DAY, makeTeam, newEmail, T0 } from './fixtures.ts'
import { type Racing, sorted } from './racing.ts'

/** Tests races of custom events and automations. */
export function racesOfAutomations(race: Racing): void {
  race(
    'an event is created once by name, and stays deleted after a concurrent update',
    async ({ storage, atOnce }) => {
      const { team } = await makeTeam(storage)
      const event = newCustomEvent(team.id)
      const create = (id: string) => (at: Storage) =>
        at.createCustomEvent({ event: { ...event, id }, most: 9 }, T0)
      expect(sorted(await atOnce(create(newId(T0)), create(newId(T0))))).toEqual(['created', 'taken'])
      const { id } = (await storage.getCustomEvent({ teamId: team.id, ref: { name: event.name } }, T0))!
      const remove = (at: Storage) => at.deleteCustomEvent({ teamId: team.id, id }, T0)
      const change = (at: Storage) => at.updateCustomEvent({ teamId: team.id, id, schema: null }, T0)
      await atOnce(remove, change)
      expect(await storage.listCustomEvents({ teamId: team.id, limit: 9 }, T0)).toMatchObject({ items: [] })
    },
  )

  race('a team defines no more events than the limit', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const create = (at: Storage) => at.createCustomEvent({ event: newCustomEvent(team.id), most: 1 }, T0)
    expect(sorted(await atOnce(create, create))).toEqual(['created', 'too_many'])
  })

  race(
    'a team sends no more events in a day than the limit, and a purge removes none of them',
    async (round) => {
      const { storage, atOnce } = round
      const { team } = await makeTeam(storage)
      const send = (at: Storage) => {
        const event = {
          id: newId(T0),
          teamId: team.id,
          name: 'order',
          about: { email: 'ada@example.com' },
          payload: {},
        }
        return at.sendCustomEvent({ event, most: 2 }, T0)
      }
      await send(storage)
      expect(sorted(await atOnce(send, send))).toEqual(['sent', 'too_many'])
      const purge = (at: Storage) => at.purgeSentEvents({ before: T0 - DAY, most: 9 }, T0)
      await atOnce(purge, purge)
      const { items } = await storage.listSentEvents({ teamId: team.id, name: 'order', limit: 9 }, T0)
      expect(items).toHaveLength(2)
    },
  )

  race('limits automations, and cancels a run of a stopped automation once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const create = (at: Storage) =>
      at.createAutomation({ automation: newAutomation(team.id, 'x'), most: 1 }, T0)
    expect(sorted(await atOnce(create, create))).toEqual(['false', 'true'])
    const { begin, stop, run, automation, teamId } = await automationStage(storage)
    const runId = await begin({ key: 'a', type: 'delay', status: 'waiting', dueAt: T0, eventName: null })
    const change = { name: 'New' }
    await atOnce(
      () => stop(T0 + 1),
      (at) => at.updateAutomation({ teamId, id: automation.id, change }, T0 + 1),
    )
    const cancel = (at: Storage) => at.cancelStoppedRuns({ most: 99 }, T0 + 2)
    const purge = (at: Storage) => at.purgeAutomationRuns({ before: T0 - DAY, most: 9 }, T0)
    await atOnce(cancel, cancel)
    await atOnce(cancel, purge)
    expect(await run(runId)).toMatchObject({ status: 'cancelled', completedAt: T0 + 2 })
    expect(await storage.getAutomation({ teamId, id: automation.id }, T0)).toMatchObject({
      name: 'New',
      status: 'disabled',
    })
  })

  race('an event starts its runs once', async ({ storage, atOnce }) => {
    const { send, automation, teamId } = await automationStage(storage)
    const { event } = (await send())!
    const take = (at: Storage) => {
      const about = {
        automationId: automation.id,
        versionId: automation.versionId,
        trigger: 'start',
        next: null,
      }
      const runs = [{ ...about, id: newId(T0) }]
      return at.takeSentEvent({ event, contactId: newId(T0), runs, resumed: [], act: act() }, T0)
    }
    expect(sorted(await atOnce(take, take))).toEqual(['false', 'true'])
    const page = { teamId, automationId: automation.id, statuses: [], limit: 9 }
    expect((await storage.listAutomationRuns(page, T0)).items).toHaveLength(1)
  })

  race('retries a failed run once', async ({ storage, atOnce }) => {
    const { automation, begin, advance, teamId } = await automationStage(storage)
    const id = await begin({ key: 'a', type: 'delay', status: 'waiting', dueAt: T0, eventName: null })
    await advance(id, 'a', done(null, { status: 'failed', end: 'failed' }))
    const retry = (at: Storage) => at.retryAutomationRun({ teamId, automationId: automation.id, id }, T0)
    expect(sorted(await atOnce(retry, retry))).toEqual(['not_failed', 'retried'])
  })

  race('runs a step once, with its effect or email', async ({ storage, atOnce }) => {
    const { begin, contact, teamId, run } = await automationStage(storage)
    const open = { type: 'delay', status: 'waiting', dueAt: T0, eventName: null } as const
    const runId = await begin({ key: 'a', ...open })
    const result = done({ key: 'b', ...open })
    const effect = { kind: 'update', change: { firstName: 'Ada' } } as const
    const advance = (at: Storage) =>
      at.advanceAutomationRun({ runId, key: 'a', result, effect, act: act() }, T0)
    expect(sorted(await atOnce(advance, advance))).toEqual(['false', 'true'])
    const put = async (at: Storage) => {
      const email = newEmail(teamId, [contact.email])
      const step = { runId, key: 'b', output: { email_id: email.id } }
      return (await at.put({ emails: [email], receipt: null, quota: null, step }, T0)).kind
    }
    expect(sorted(await atOnce(put, put))).toEqual(['stale', 'stored'])
    const postpone = (at: Storage) => at.postponeAutomationStep({ runId, key: 'b', dueAt: T0 + 9 }, T0)
    await atOnce(postpone, (at) =>
      at.advanceAutomationRun({ runId, key: 'b', result: done(), act: act() }, T0),
    )
    expect((await run(runId)).steps.map(({ dueAt }) => dueAt)).toEqual([null, null, null])
  })
}
