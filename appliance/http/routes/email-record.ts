import { getEmailRecord, getEmailRecordPage, presentEmailRecord } from '../../api/email-record.ts'
import { emailRecordPage } from '../../api/email-record-page.ts'
import { readEmailRecord } from '../../insights/insights.ts'
import { refuse } from '../../mail/refusals.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for all that is known about an email, to attach to a support ticket. */
export function emailRecordRoutes(app: App, { storage, clock }: HttpDeps): void {
  const record = async (teamId: string, id: string) => {
    const parts = await readEmailRecord(storage, { teamId, id }, clock.now())
    if (!parts) throw refuse('not_found', { resource: 'Email' })
    return presentEmailRecord(parts, clock.now())
  }

  serve(app, getEmailRecord, {}, (request) => record(callerOf(request).teamId, request.params.id))

  serve(app, getEmailRecordPage, {}, async (request, reply) => {
    const page = emailRecordPage(await record(callerOf(request).teamId, request.params.id))
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-disposition': `attachment; filename="${request.params.id}.html"`,
      })
      .send(page)
  })
}
