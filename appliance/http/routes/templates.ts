import type { FastifyRequest } from 'fastify'
import type { SendEmail } from '../../api/sending.ts'
import { presentPage } from '../../api/shared.ts'
import * as api from '../../api/templates.ts'
import { parseRequest } from '../../intake/intake.ts'
import { setAcceptedHeaders, identifyRequest } from '../accepted.ts'
import { getAuthorName, getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'
import { countTestEmails } from '../rate.ts'

/** Identifies the template in the path. */
const named = (request: FastifyRequest) => ({
  teamId: getCaller(request).teamId,
  which: (request.params as { id: string }).id,
})

/** Routes for templates. emails.ts and batch.ts send emails with them. */
export function templateRoutes(app: App, deps: HttpDeps): void {
  const { templates } = deps
  const read = async (request: FastifyRequest) => {
    // The audit log records the changed fields, without the long HTML.
    const { id, name, alias, status, current_version_id, published_version_id } = api.presentTemplate(
      await templates.get(named(request)),
    )
    return { id, name, alias, status, current_version_id, published_version_id }
  }
  changingRoutes(app, deps, read)
  versionRoutes(app, deps, read)
  testRoute(app, deps)
  serve(app, api.listTemplates, {}, async (request) => {
    const { teamId } = getCaller(request)
    return presentPage(await templates.list({ teamId, ...request.query }), api.presentTemplateSummary)
  })
  serve(app, api.getTemplate, {}, async (request) => api.presentTemplate(await templates.get(named(request))))
}

type Read = (request: FastifyRequest) => Promise<unknown>

function changingRoutes(app: App, { templates }: HttpDeps, read: Read): void {
  const created = { audit: 'template.create' } as const
  serve(app, api.createTemplate, created, async (request) => {
    const { teamId } = getCaller(request)
    const made = await templates.create({ teamId, input: request.body, author: getAuthorName(request) })
    return api.presentTemplateRef(made)
  })
  serve(app, api.updateTemplate, { audit: { action: 'template.update', read } }, async (request) => {
    const { name, html, revision, ...others } = request.body
    const input = { ...others, name: name ?? undefined, html: html ?? undefined }
    const about = { author: getAuthorName(request), revision: revision ?? undefined }
    return api.presentTemplateRef(await templates.update({ ...named(request), input, ...about }))
  })
  const deleted = { audit: { action: 'template.delete', read } } as const
  serve(app, api.deleteTemplate, deleted, async (request) => ({
    ...api.presentTemplateRef(await templates.remove(named(request))),
    deleted: true as const,
  }))
  serve(app, api.publishTemplate, { audit: { action: 'template.publish', read } }, async (request) =>
    api.presentTemplateRef(await templates.publish(named(request))),
  )
  // The audit entry is about the new template.
  serve(app, api.duplicateTemplate, created, async (request) =>
    api.presentTemplateRef(await templates.duplicate({ ...named(request), author: getAuthorName(request) })),
  )
}

/** Route for sending the current draft as a test, so that people can see it in an inbox before publishing. */
function testRoute(app: App, deps: HttpDeps): void {
  const { templates, intake, clock } = deps
  serve(app, api.testTemplate, { audit: null }, async (request, reply) => {
    const caller = getCaller(request)
    const { to, variables = null } = request.body
    const asked: SendEmail = { to, template: { id: request.params.id, variables } }
    const { body, template } = await templates.fill(asked, caller.teamId, 'draft')
    const subject = `[Test] ${body.subject ?? ''}`.trim()
    await countTestEmails(deps, caller.teamId, 1)
    const submission = { ...parseRequest({ ...body, subject }, clock.now()), template }
    const accepted = await intake.accept(
      { submissions: [submission], ...identifyRequest(request, `POST /templates/${request.params.id}/test`) },
      caller,
    )
    setAcceptedHeaders(reply, accepted)
    return { id: accepted.ids[0]! }
  })
}

function versionRoutes(app: App, { templates }: HttpDeps, read: Read): void {
  serve(app, api.listTemplateVersions, {}, async (request) =>
    presentPage(await templates.versions({ ...named(request), ...request.query }), api.presentVersionSummary),
  )
  serve(app, api.getTemplateVersion, {}, async (request) =>
    api.presentVersion(await templates.version({ ...named(request), id: request.params.version_id })),
  )
  serve(app, api.restoreTemplateVersion, { audit: { action: 'template.update', read } }, async (request) => {
    const about = { id: request.params.version_id, author: getAuthorName(request) }
    return api.presentTemplateRef(await templates.restore({ ...named(request), ...about }))
  })
}
