import type { FastifyRequest } from 'fastify'
import { presentTestRun, testAutomation, toTestInput } from '../../api/automation-tests.ts'
import * as api from '../../api/automations.ts'
import { listContactRuns, presentContactRun } from '../../api/contact-automations.ts'
import { presentDeleted, presentList, presentRef, presentPage } from '../../api/shared.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

const ref = (request: FastifyRequest) => ({
  teamId: getCaller(request).teamId,
  id: (request.params as { automation_id: string }).automation_id,
})

/** Routes for automations and their runs. */
export function automationRoutes(app: App, deps: HttpDeps): void {
  const { automations } = deps
  const noun = 'automation' as const
  const read = async (request: FastifyRequest) => api.presentAutomation(await automations.get(ref(request)))
  const act = { right: 'send' } as const
  serve(app, api.createAutomation, { ...act, audit: 'automation.create' }, async (request) => {
    const { id } = await automations.create({ teamId: getCaller(request).teamId, input: request.body })
    return presentRef(noun, id)
  })
  serve(app, api.getAutomation, {}, read)
  const updated = { ...act, audit: { action: 'automation.update', read } } as const
  serve(app, api.updateAutomation, updated, async (request) => {
    const { revision, ...input } = request.body
    const saved = await automations.update({ ...ref(request), input, revision: revision ?? undefined })
    return { ...presentRef(noun, ref(request).id), revision: saved }
  })
  const deleted = { ...act, audit: { action: 'automation.delete', read } } as const
  serve(app, api.deleteAutomation, deleted, async (request) => {
    await automations.remove(ref(request))
    return presentDeleted(noun, ref(request).id)
  })
  serve(app, api.duplicateAutomation, { ...act, audit: 'automation.create' }, async (request) => {
    const { id } = await automations.duplicate(ref(request))
    return presentRef(noun, id)
  })
  serve(app, api.stopAutomation, { ...act, audit: { action: 'automation.stop', read } }, async (request) => {
    await automations.stop(ref(request))
    return { ...presentRef(noun, ref(request).id), status: 'disabled' as const }
  })
  serve(app, testAutomation, { right: 'send', audit: null }, async (request) =>
    presentTestRun(await automations.test({ ...ref(request), input: toTestInput(request.body) })),
  )
  listRoutes(app, deps)
}

/** Routes that list and count automations and their runs. */
function listRoutes(app: App, { audience, automations }: HttpDeps): void {
  serve(app, api.listAutomations, {}, async (request) => {
    const { counts: counted, ...query } = request.query
    return presentPage(
      await automations.list({
        teamId: getCaller(request).teamId,
        ...query,
        counted,
      }),
      api.presentAutomationSummary,
    )
  })
  serve(app, api.countAutomation, {}, async (request) =>
    api.presentAutomationCounts(ref(request).id, await automations.counts(ref(request))),
  )
  serve(app, api.listAutomationRuns, {}, async (request) =>
    presentPage(await automations.runs({ ...ref(request), ...request.query }), api.presentRunSummary),
  )
  serve(app, api.getAutomationRun, {}, async (request) =>
    api.presentRun(await automations.run({ ...ref(request), runId: request.params.run_id })),
  )
  serve(app, listContactRuns, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { id: contactId } = await audience.getContact({ teamId, idOrEmail: request.params.id })
    return presentList((await automations.contactRuns({ teamId, contactId })).map(presentContactRun), false)
  })
  const audit = { action: 'automation.retry' } as const
  serve(app, api.retryAutomationRun, { right: 'send', audit }, async (request) => {
    const { run_id: runId } = request.params
    await automations.retry({ ...ref(request), runId })
    return { object: 'automation_run' as const, id: runId, status: 'running' as const }
  })
}
