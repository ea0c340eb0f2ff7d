import { expect, test } from 'vitest'
import type { AutomationGraph, ReachedStep } from '../../appliance/mail/automation.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { Automation, NewRun, StepResult, Storage } from '../../appliance/storage/storage.ts'
import { act, audienceStage } from './audience-stage.ts'
import { DAY, makeTeam, MINUTE, newEmail, T0, unique } from './fixtures.ts'

/** Returns an enabled automation that an event of its own starts. Not stored. */
export function newAutomation(teamId: string, event: string, more: Partial<Automation> = {}): Automation {
  const graph: AutomationGraph = {
    steps: [
      { key: 'start', type: 'trigger', config: { event_name: event } },
      { key: 'wait', type: 'delay', config: { duration: '1 day' } },
    ],
    connections: [{ from: 'start', to: 'wait', type: 'default' }],
  }
  return {
    id: newId(T0),
    teamId,
    name: 'Welcome',
    status: 'enabled',
    versionId: newId(T0),
    graph,
    stopReason: null,
    createdAt: T0,
    updatedAt: T0,
    ...more,
  }
}

const reached = (key: string, dueAt: number, eventName: string | null = null): ReachedStep => ({
  key,
  type: eventName === null ? 'delay' : 'wait_for_event',
  status: 'waiting',
  dueAt,
  eventName,
})

export const done = (next: ReachedStep | null = null, more: Partial<StepResult> = {}): StepResult => ({
  status: 'completed',
  output: null,
  error: null,
  next,
  end: 'completed',
  ...more,
})

/** Stores an automation and a contact. Returns helpers that send events and begin runs. */
export async function automationStage(storage: Storage) {
  const audience = await audienceStage(storage)
  const { teamId } = audience
  const name = unique('user.created')
  const automation = newAutomation(teamId, name)
  expect(await storage.createAutomation({ automation, most: 99 }, T0)).toBe(true)
  const contact = await audience.add()
  const id = automation.id
  const send = async (
    about: { id: string } | { email: string } = { id: contact.id },
    now = T0,
    event = name,
  ) => {
    const sent = { id: newId(now), teamId, name: event, about, payload: { plan: 'pro' } }
    expect(await storage.sendCustomEvent({ event: sent, most: 999 }, now)).toBe('sent')
    const found = (await storage.pendingEvents({ most: 99 }, now)).filter((one) => one.event.id === sent.id)
    return found[0]
  }
  const begin = async (next: ReachedStep | null, now = T0): Promise<string> => {
    const work = await send(undefined, now)
    const run: NewRun = {
      id: newId(now),
      automationId: id,
      versionId: automation.versionId,
      trigger: 'start',
      next,
    }
    const taking = { event: work!.event, contactId: newId(now), runs: [run], resumed: [], act: act() }
    expect(await storage.takeSentEvent(taking, now)).toBe(true)
    return run.id
  }
  const run = async (runId: string) =>
    (await storage.getAutomationRun({ teamId, automationId: id, id: runId }, T0))!
  const due = async (now: number) =>
    (await storage.dueAutomationSteps({ most: 999 }, now)).filter((one) => one.teamId === teamId)
  const advance = (runId: string, key: string, result = done(), now = T0, more: object = {}) =>
    storage.advanceAutomationRun({ runId, key, result, act: act(), ...more }, now)
  const stop = (now = T0) => storage.stopAutomation({ id, teamId, reason: null }, now)
  return { ...audience, name, automation, contact, send, begin, run, due, advance, stop }
}

/** Tests automations and their runs. */
export function automationsContract(storage: () => Storage): void {
  definitionTests(storage)
  runTests(storage)
  effectTests(storage)
  retryTests(storage)
  sendTests(storage)
}

function definitionTests(storage: () => Storage): void {
  test('creates, lists, updates and deletes automations within their team only', async () => {
    const [{ team }, { team: other }] = [await makeTeam(storage()), await makeTeam(storage())]
    const automation = newAutomation(team.id, unique('event'))
    const create = (one: Automation, most = 1) => storage().createAutomation({ automation: one, most }, T0)
    expect([await create(automation), await create(newAutomation(team.id, 'x'))]).toEqual([true, false])
    const { graph, ...summary } = automation
    const page = { teamId: team.id, limit: 9 }
    expect(await storage().listAutomations(page, T0)).toEqual({ items: [summary], hasMore: false })
    expect((await storage().listAutomations({ ...page, status: 'disabled' }, T0)).items).toEqual([])
    const get = (teamId = team.id) => storage().getAutomation({ teamId, id: automation.id }, T0)
    expect([await get(), await get(other.id)]).toEqual([automation, undefined])
    const version = { id: newId(T0), graph: { steps: graph.steps.slice(0, 1), connections: [] } }
    const change = { name: 'Hi', status: 'disabled', version } as const
    const update = (teamId: string, revision?: string) =>
      storage().updateAutomation({ teamId, id: automation.id, change, revision }, T0 + 1)
    expect([await update(other.id), await update(team.id, newId(T0))]).toEqual(['absent', 'stale'])
    expect(await get()).toEqual(automation)
    expect(await update(team.id, automation.versionId)).toBe('saved')
    expect(await get()).toMatchObject({
      name: 'Hi',
      status: 'disabled',
      graph: version.graph,
      updatedAt: T0 + 1,
    })
    expect(await storage().getAutomationVersion({ id: automation.versionId }, T0)).toEqual(graph)
    const letter = { key: 'mail', type: 'send_email', config: { template: { id: 'hello' } } } as const
    const letters = { id: newId(T0), graph: { steps: [...graph.steps, letter], connections: [] } }
    const enabled = { name: 'Hi', status: 'enabled', version: letters } as const
    const sending = (teamId = team.id) =>
      storage().automationsSending({ teamId, templates: [newId(T0), 'hello'] }, T0)
    expect(await sending()).toEqual([])
    await storage().updateAutomation({ teamId: team.id, id: automation.id, change: enabled }, T0 + 1)
    expect([await sending(), await sending(other.id)]).toEqual([['Hi'], []])
    const remove = (teamId: string) =>
      storage().stopAutomation({ teamId, id: automation.id, reason: null, deleted: true }, T0 + 2)
    expect([await remove(other.id), await remove(team.id), await remove(team.id)]).toEqual([
      false,
      true,
      false,
    ])
    expect(await get()).toBeUndefined()
  })

  test('queues only events that an enabled automation uses', async () => {
    const { automation, send, teamId } = await automationStage(storage())
    expect(await send(undefined, T0, unique('other'))).toBeUndefined()
    expect(await send({ email: 'new@example.com' })).toMatchObject({
      contact: undefined,
      waiting: [],
      starts: [{ automationId: automation.id, versionId: automation.versionId }],
    })
    await storage().updateAutomation({ teamId, id: automation.id, change: { status: 'disabled' } }, T0)
    expect(await send()).toBeUndefined()
  })
}

function runTests(storage: () => Storage): void {
  test('an event starts a run once and creates its contact', async () => {
    const { automation, send, run, teamId, due } = await automationStage(storage())
    const email = `${unique('new')}@example.com`
    const work = await send({ email })
    const about = { automationId: automation.id, versionId: automation.versionId, trigger: 'start' }
    const first = { ...about, id: newId(T0), next: reached('wait', T0 + DAY) }
    const take = () =>
      storage().takeSentEvent(
        { event: work!.event, contactId: newId(T0), runs: [first], resumed: [], act: act() },
        T0,
      )
    expect([await take(), await take()]).toEqual([true, false])
    const contact = await storage().getContact({ teamId, ref: { email } }, T0)
    expect(await run(first.id)).toMatchObject({
      status: 'running',
      contactId: contact!.id,
      completedAt: null,
      createdAt: T0,
      steps: [
        { key: 'start', type: 'trigger', status: 'completed', completedAt: T0 },
        { key: 'wait', type: 'delay', status: 'waiting', dueAt: T0 + DAY, completedAt: null },
      ],
    })
    expect(await due(T0 + DAY - 1)).toEqual([])
    expect(await due(T0 + DAY)).toMatchObject([
      { runId: first.id, key: 'wait', event: { plan: 'pro' }, waits: {} },
    ])
    expect(await storage().nextAutomationStep({}, T0)).toBeLessThanOrEqual(T0 + DAY)
  })

  test('an event resumes a run only if it was sent after the run began to wait', async () => {
    const { begin, send, run, contact } = await automationStage(storage())
    const paid = unique('paid')
    const runId = await begin(reached('wait', T0 + DAY, paid), T0 + 10)
    expect((await send(undefined, T0 + 5, paid))!.waiting).toEqual([])
    const work = await send({ id: contact.id }, T0 + 20, paid)
    expect(work!.waiting).toMatchObject([{ runId, key: 'wait' }])
    const result = done(null, { output: { event: paid }, waits: { [paid]: { total: 7 } } })
    const resumed = [{ runId, key: 'wait', result }]
    const taking = { event: work!.event, contactId: newId(T0), runs: [], resumed, act: act() }
    expect(await storage().takeSentEvent(taking, T0 + 21)).toBe(true)
    expect(await run(runId)).toMatchObject({ status: 'completed', completedAt: T0 + 21 })
    expect(await storage().takeSentEvent(taking, T0 + 22)).toBe(false)
  })

  test('lists the newest runs of a contact with the steps that they have reached', async () => {
    const { automation, begin, advance, teamId, contact, add } = await automationStage(storage())
    const first = await begin(reached('wait', T0 + DAY))
    const second = await begin(reached('wait', T0 + 9), T0 + 8)
    await advance(second, 'wait', done(), T0 + 9)
    const list = (more: object = {}) =>
      storage().contactAutomationRuns({ teamId, contactId: contact.id, most: 9, ...more }, T0)
    const about = { automationId: automation.id, automationName: 'Welcome', contactId: contact.id }
    expect(await list()).toMatchObject([
      {
        ...about,
        id: second,
        status: 'completed',
        completedAt: T0 + 9,
        steps: [{ key: 'start' }, { key: 'wait', status: 'completed' }],
      },
      {
        ...about,
        id: first,
        status: 'running',
        steps: [{ key: 'start' }, { key: 'wait', status: 'waiting' }],
      },
    ])
    expect((await list({ most: 1 })).map(({ id }) => id)).toEqual([second])
    expect(await list({ teamId: newId(T0) })).toEqual([])
    expect(await list({ contactId: (await add()).id })).toEqual([])
  })

  test('stopping an automation cancels earlier runs before their next step', async () => {
    const { automation, begin, advance, run, stop, due, teamId } = await automationStage(storage())
    const runId = await begin(reached('wait', T0 + 1))
    expect(await stop(T0 + 2)).toBe(true)
    expect([await due(T0 + 9), await advance(runId, 'wait')]).toEqual([[], false])
    const change = { status: 'enabled' } as const
    await storage().updateAutomation({ teamId, id: automation.id, change }, T0 + 3)
    const after = await begin(reached('wait', T0 + 5), T0 + 4)
    expect(await storage().hasStoppedRuns({}, T0)).toBe(true)
    while ((await storage().cancelStoppedRuns({ most: 9 }, T0 + 5)) > 0);
    expect(await storage().hasStoppedRuns({}, T0)).toBe(false)
    expect(await run(runId)).toMatchObject({
      status: 'cancelled',
      completedAt: T0 + 5,
      steps: [{ status: 'completed' }, { key: 'wait', status: 'skipped', dueAt: null }],
    })
    expect(await due(T0 + 9)).toMatchObject([{ runId: after }])
    const list = { teamId, automationId: automation.id, limit: 9 }
    const ids = async (statuses: ('running' | 'cancelled')[]) =>
      (await storage().listAutomationRuns({ ...list, statuses }, T0)).items.map(({ id }) => id)
    expect([await ids(['cancelled']), await ids([])]).toEqual([[runId], [after, runId]])
  })

  test('stops an automation after too many runs for one contact within a minute', async () => {
    const { automation, begin, send, teamId } = await automationStage(storage())
    for (let run = 0; run < 30; run++) await begin(null, T0 + run)
    const work = await send()
    const about = {
      automationId: automation.id,
      versionId: automation.versionId,
      trigger: 'start',
      next: null,
    }
    const runs = [{ ...about, id: newId(T0) }]
    const take = { event: work!.event, contactId: newId(T0), runs, resumed: [], act: act() }
    await storage().takeSentEvent(take, T0 + MINUTE - 1)
    expect(await storage().getAutomation({ teamId, id: automation.id }, T0)).toMatchObject({
      status: 'disabled',
      stopReason: expect.stringContaining('30 runs for one contact') as string,
    })
    const recent = { automationId: automation.id, since: T0, most: 99 }
    expect(await storage().recentAutomationRuns(recent, T0)).toEqual({ ended: 30, failed: 0 })
  })

  test('counts runs and steps, newest first', async () => {
    const { automation, begin, advance, teamId } = await automationStage(storage())
    const limits = { since: T0 - DAY, most: 9 }
    const count = async (more: object = {}) =>
      (await storage().countAutomationRuns({ teamId, ids: [automation.id], ...limits, ...more }, T0))[
        automation.id
      ]
    expect(await count()).toEqual({ running: 0, completed: 0, failed: 0, cancelled: 0 })
    const [old, ended, failing] = [
      await begin(reached('wait', T0 + DAY), T0),
      await begin(reached('wait', T0), T0 + 1),
      await begin(reached('wait', T0), T0 + 2),
    ]
    await advance(ended, 'wait', done(reached('more', T0)))
    await advance(ended, 'more')
    await advance(failing, 'wait', done(null, { status: 'failed', end: 'failed' }))
    expect(await count()).toEqual({ running: 1, completed: 1, failed: 1, cancelled: 0 })
    expect(await count({ most: 1 })).toEqual({ running: 1, completed: 0, failed: 1, cancelled: 0 })
    const { team: other } = await makeTeam(storage())
    expect(await count({ teamId: other.id })).toBeUndefined()
    const steps = { teamId, automationId: automation.id, ...limits }
    expect(await storage().countAutomationSteps(steps, T0)).toEqual([
      { key: 'more', waiting: 0, completed: 1, failed: 0, skipped: 0 },
      { key: 'start', waiting: 0, completed: 3, failed: 0, skipped: 0 },
      { key: 'wait', waiting: 1, completed: 1, failed: 1, skipped: 0 },
    ])
    expect(await storage().countAutomationSteps({ ...steps, teamId: other.id }, T0)).toEqual([])
    await advance(old, 'wait')
  })

  test('purges old runs only if they have ended', async () => {
    const { begin, run, advance } = await automationStage(storage())
    const [ended, running] = [await begin(reached('wait', T0)), await begin(reached('wait', T0))]
    await advance(ended, 'wait')
    const before = T0 + 10_000 * DAY
    while ((await storage().purgeAutomationRuns({ before, most: 1000 }, T0)) > 0);
    expect([await run(ended), await run(running)]).toMatchObject([undefined, { status: 'running' }])
  })
}

function effectTests(storage: () => Storage): void {
  test('a step changes its contact and advances once', async () => {
    const { begin, advance, run, get, contact, addSegment, teamId } = await automationStage(storage())
    const segment = await addSegment()
    const runId = await begin(reached('a', T0))
    const update = { effect: { kind: 'update', change: { firstName: 'Ada' } } }
    expect(await advance(runId, 'a', done(reached('b', T0)), T0, update)).toBe(true)
    expect(await advance(runId, 'a', done(reached('b', T0)), T0, update)).toBe(false)
    expect((await get(contact.id))?.firstName).toBe('Ada')
    const join = { effect: { kind: 'segment', segmentId: segment.id } }
    expect(await advance(runId, 'b', done(reached('c', T0)), T0, join)).toBe(true)
    const member = { teamId, ref: { id: contact.id }, segmentId: segment.id }
    expect(await storage().isInSegment(member, T0)).toBe(true)
    await storage().postponeAutomationStep({ runId, key: 'c', dueAt: T0 + 7 }, T0)
    expect((await run(runId)).steps.find(({ key }) => key === 'c')?.dueAt).toBe(T0 + 7)
    expect(await advance(runId, 'c', done(), T0 + 7, { effect: { kind: 'delete' } })).toBe(true)
    expect(await get(contact.id)).toBeUndefined()
    expect(await run(runId)).toMatchObject({ status: 'completed', completedAt: T0 + 7 })
  })

  test('a step with an impossible effect fails, and so does its run', async () => {
    const { begin, advance, run } = await automationStage(storage())
    const runId = await begin(reached('a', T0))
    const effect = { kind: 'segment', segmentId: newId(T0) }
    expect(await advance(runId, 'a', done(reached('b', T0)), T0, { effect })).toBe(true)
    expect(await run(runId)).toMatchObject({
      status: 'failed',
      steps: [
        { key: 'a', status: 'failed', error: { message: 'The segment was deleted, or has rules now.' } },
        { key: 'start' },
      ],
    })
  })
}

function retryTests(storage: () => Storage): void {
  test('retries a failed run once from the step that failed, unless the automation was stopped', async () => {
    const { automation, begin, advance, run, due, stop, teamId } = await automationStage(storage())
    const runId = await begin(reached('a', T0))
    const retry = (id = runId, team = teamId) =>
      storage().retryAutomationRun({ teamId: team, automationId: automation.id, id }, T0 + MINUTE)
    expect(await retry()).toBe('not_failed')
    const failed = done(null, { status: 'failed', end: 'failed', error: { message: 'Why.' } })
    await advance(runId, 'a', failed)
    const { team: other } = await makeTeam(storage())
    expect([await retry(newId(T0)), await retry(runId, other.id)]).toEqual(['absent', 'absent'])
    expect([await retry(), await retry()]).toEqual(['retried', 'not_failed'])
    expect(await run(runId)).toMatchObject({
      status: 'running',
      completedAt: null,
      steps: [
        { key: 'a', status: 'pending', dueAt: T0 + MINUTE, error: null, completedAt: null },
        { key: 'start', status: 'completed' },
      ],
    })
    expect((await due(T0 + MINUTE)).map(({ key }) => key)).toEqual(['a'])
    await advance(runId, 'a', failed, T0 + MINUTE)
    await stop(T0 + 2 * MINUTE)
    expect(await retry()).toBe('stopped')
  })
}

function sendTests(storage: () => Storage): void {
  test('a step sends one email, and none after a stop or to a contact who opted out', async () => {
    const { begin, run, stop, update, contact, teamId } = await automationStage(storage())
    const put = async (runId: string) => {
      const email = newEmail(teamId, [contact.email])
      const step = { runId, key: 'mail', output: { email_id: email.id } }
      return (await storage().put({ emails: [email], receipt: null, quota: null, step }, T0)).kind
    }
    const runId = await begin(reached('mail', T0))
    expect([await put(runId), await put(runId)]).toEqual(['stored', 'stale'])
    expect((await run(runId)).steps.find(({ key }) => key === 'mail')).toMatchObject({
      dueAt: T0,
      output: { email_id: expect.any(String) as string },
    })
    const second = await begin(reached('mail', T0))
    await update(contact.id, { unsubscribed: true })
    expect(await put(second)).toBe('stale')
    await update(contact.id, { unsubscribed: false })
    await stop(T0 + 1)
    expect(await put(second)).toBe('stale')
    expect((await storage().listEmails({ teamId, limit: 9 }, T0)).items).toHaveLength(1)
  })
}
