import type { FastifyRequest } from 'fastify'
import * as previews from '../../api/contact-import-previews.ts'
import * as api from '../../api/contact-imports.ts'
import { presentPage } from '../../api/shared.ts'
import { refuse } from '../../mail/refusals.ts'
import { getAuthorName, isFromApp, getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV_TYPE, sendDownload } from '../download.ts'
import { serve } from '../serve.ts'
import { registerFormParser } from '../upload.ts'
import { createValidationRefusal } from '../validation.ts'

const audit = { action: 'contact.import', personal: true, looks: isFromApp } as const

/** Routes for imports of CSV files. */
export function contactImportRoutes(app: App, deps: HttpDeps): void {
  const { audience } = deps
  void app.register((scope, _, done) => {
    uploadRoutes(scope as unknown as App, deps)
    done()
  })

  serve(app, api.listContactImports, {}, async (request) => {
    const page = await audience.listImports({ teamId: getCaller(request).teamId, ...request.query })
    return presentPage(page, api.presentContactImport)
  })

  serve(app, api.getContactImport, {}, async (request) =>
    api.presentContactImport(await audience.getImport(which(request, request.params))),
  )

  const undo = { ...audit, action: 'contact.import_undo' } as const
  serve(app, api.undoContactImport, { audit: undo }, async (request) => {
    const undone = await audience.undoImport(which(request, request.params))
    return { object: 'contact_import_undone' as const, id: request.params.id, ...undone }
  })

  serve(app, api.exportContactRejects, { right: 'export' }, async (request, reply) => {
    const found = await audience.getImport(which(request, request.params))
    const pages = audience.importRejects(which(request, request.params))
    const write = (row: Parameters<typeof api.formatRejectRow>[1]) =>
      api.formatRejectRow(found.columns.length, row)
    const file = { name: 'rejects.csv', type: CSV_TYPE, pages, head: api.formatRejectHeader(found), write }
    return sendDownload(request, reply, file, deps)
  })
  draftRoutes(app, deps)
}

/** Routes for drafts: uploaded files that haven't been imported yet. */
function draftRoutes(app: App, { audience }: HttpDeps): void {
  serve(app, previews.getContactImportPreview, {}, async (request) =>
    previews.presentImportPreview(await audience.getImportPreview(which(request, request.params))),
  )

  serve(app, previews.summarizeContactImport, { audit: null }, async (request) => {
    const going = (): boolean => !request.response.closed
    const input = api.toImportInput(request.body, getAuthorName(request))
    return previews.presentImportSummary(
      await audience.summarizeImport({ ...which(request, request.params), input, going }),
    )
  })

  serve(app, previews.startContactImport, { audit }, async (request) => {
    const input = api.toImportInput(request.body, getAuthorName(request))
    return api.presentImportRef(await audience.startImport({ ...which(request, request.params), input }))
  })

  serve(app, previews.deleteContactImport, { audit }, async (request) => {
    await audience.deleteImport(which(request, request.params))
    return { ...api.presentImportRef(request.params), deleted: true as const }
  })
}

/** Routes for forms with a file. */
function uploadRoutes(scope: App, { audience, capacity, clock }: HttpDeps): void {
  registerFormParser(scope, { capacity, clock, receive: () => audience.receiveImport() })

  serve(scope, api.createContactImport, { audit }, async (request) => {
    const input = api.toImportInput(readSettings(request, request.body), getAuthorName(request))
    const found = await audience.createImport({ ...uploaded(request), input })
    return api.presentImportRef(found)
  })

  serve(scope, previews.previewContactImport, { audit: null }, async (request) => {
    const preview = await audience.previewImport(uploaded(request))
    return previews.presentImportPreview(preview)
  })
}

const which = (request: FastifyRequest, { id }: { id: string }) => ({ teamId: getCaller(request).teamId, id })

/** Returns the uploaded file. Refuses: `import_form`. */
function uploaded(request: FastifyRequest) {
  const { upload } = request
  const { teamId, apiKey, userId = null } = getCaller(request)
  if (!upload) throw refuse('import_form', { expected: 'a file in a field called `file`' })
  return { teamId, source: apiKey?.id ?? userId, fileName: upload.name, upload: upload.file }
}

/** The form fields, with JSON as text. */
type Fields = Partial<Record<'column_map' | 'on_conflict' | 'segments' | 'topics' | 'consent', string>>

/** Reads the import settings in a form. Refuses: `invalid_field`, `missing_field`. */
function readSettings(request: FastifyRequest, fields: Fields): api.ImportSettings {
  const settings = {
    ...(fields.on_conflict !== undefined && { on_conflict: fields.on_conflict }),
    ...(fields.consent !== undefined && { consent: fields.consent }),
    ...read('column_map', fields.column_map),
    ...read('segments', fields.segments),
    ...read('topics', fields.topics),
  }
  const validate = request.compileValidationSchema(api.ImportSettings, 'body')
  if (validate(settings) !== true) throw createValidationRefusal(validate.errors ?? [])
  return settings as api.ImportSettings
}

function read(field: string, text: string | undefined): Record<string, unknown> {
  if (text === undefined || text === '') return {}
  try {
    return { [field]: JSON.parse(text) as unknown }
  } catch {
    throw refuse('invalid_field', { field, expected: 'it must be JSON' })
  }
}
