import { readEmailRecord } from '../../insights/insights.ts'
import { parseRequest, type EmailContentReader } from '../../intake/intake.ts'
import { refuse } from '../../mail/refusals.ts'
import type { Email } from '../../storage/storage.ts'
import { getEmailRecord, getEmailRecordPage, presentEmailRecord } from '../../api/email-record.ts'
import { renderEmailRecordPage } from '../../api/email-record-page.ts'
import * as api from '../../api/emails.ts'
import type { Operation, OperationSchema } from '../../api/operation.ts'
import * as sending from '../../api/sending.ts'
import { getTimeline, presentTimeline } from '../../api/timeline.ts'
import { presentRef, presentPage } from '../../api/shared.ts'
import { setAcceptedHeaders, dropHeadersAndLog, identifyRequest } from '../accepted.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

interface Sending extends OperationSchema {
  body: typeof sending.SendEmail
  response: { 200: typeof sending.EmailCreated }
}

/** The operations for sending an email. Older clients of the hosted service use the last three. */
const SENDING: readonly Operation<Sending>[] = [
  sending.sendEmail,
  sending.sendEmailSingular,
  sending.sendEmailSending,
  sending.sendEmailSingularSending,
]

/** Routes to send, reschedule, cancel and read emails. */
export function emailRoutes(app: App, deps: HttpDeps, contents: EmailContentReader): void {
  sendingRoutes(app, deps)
  changingRoutes(app, deps)
  readingRoutes(app, deps, contents)
  recordRoutes(app, deps)
}

function sendingRoutes(app: App, { intake, templates, clock }: HttpDeps): void {
  const read = async (
    { body, validationError }: { body: sending.SendEmail; validationError?: Error },
    teamId: string,
  ) => {
    if (validationError) throw validationError
    const filled = await templates.fill(body, teamId)
    return { ...parseRequest(filled.body, clock.now()), template: filled.template }
  }
  for (const operation of SENDING)
    serve(
      app,
      operation,
      {
        right: 'send',
        audit: null,
        // Once an idempotency key was used, any different body is refused, even an invalid one (reference: wire format
        // §4), so the handler validates afterwards.
        attachValidation: true,
        preValidation: (request, _reply, done) => {
          dropHeadersAndLog(request, [request.body])
          done()
        },
      },
      async (request, reply) => {
        const caller = getCaller(request)
        const name = identifyRequest(request, 'POST /emails')
        const accepted =
          (await intake.findEarlier(name, caller)) ??
          (await intake.accept({ submissions: [await read(request, caller.teamId)], ...name }, caller))
        setAcceptedHeaders(reply, accepted)
        const id = accepted.ids[0]!
        request.about.email_id = id
        return { id }
      },
    )
}

function changingRoutes(app: App, { schedules }: HttpDeps): void {
  const options = { right: 'send', audit: null } as const
  serve(app, api.rescheduleEmail, options, async (request) => {
    const { teamId } = getCaller(request)
    const { id } = request.params
    await schedules.reschedule({ teamId, id, scheduledAt: request.body.scheduled_at })
    return presentRef('email', id)
  })

  serve(app, api.cancelEmail, options, async (request) => {
    const { teamId } = getCaller(request)
    const { id } = request.params
    await schedules.cancel({ teamId, id })
    return presentRef('email', id)
  })
}

function readingRoutes(
  app: App,
  { storage, shaping, clock, broadcasts }: HttpDeps,
  contents: EmailContentReader,
): void {
  const find = async (teamId: string, id: string): Promise<Email> => {
    const email = await storage.getEmail({ teamId, id }, clock.now())
    if (!email) throw refuse('not_found', { resource: 'Email' })
    return email
  }

  serve(app, api.listEmails, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { broadcast_id: broadcastId, ...paging } = request.query
    const page = await storage.listEmails({ teamId, broadcastId, ...paging }, clock.now())
    return presentPage(page, api.presentEmailSummary)
  })

  serve(app, api.getEmail, {}, async (request) => {
    const email = await find(getCaller(request).teamId, request.params.id)
    const isOfBroadcast = email.broadcastId !== null
    const variant = isOfBroadcast ? await broadcasts.variantOfEmail({ emailId: email.id }) : null
    return api.presentEmail(email, await contents.of(email), variant)
  })

  serve(app, getTimeline, {}, async (request) => {
    const { teamId } = getCaller(request)
    const email = await find(teamId, request.params.id)
    const history = await storage.getHistory({ teamId, id: email.id }, clock.now())
    const returned = await storage.listReturned({ teamId, emailId: email.id }, clock.now())
    return presentTimeline(email, history, await shaping.explain(history.deliveries), returned)
  })

  serve(app, api.getSource, {}, async (request, reply) => {
    const { id, via } = await find(getCaller(request).teamId, request.params.id)
    // A notice may contain a sign-in or reset link.
    if (via === 'notice') throw refuse('content_withheld')
    const message = await storage.getMessage({ emailId: id }, clock.now())
    if (!message) throw refuse('not_found', { resource: 'Email source' })
    return reply
      .type('message/rfc822')
      .header('content-disposition', `attachment; filename="${id}.eml"`)
      .send(Buffer.from(message.buffer, message.byteOffset, message.byteLength))
  })
}

/** Routes for the complete record of an email, to attach to a support ticket. */
function recordRoutes(app: App, { storage, clock }: HttpDeps): void {
  const record = async (teamId: string, id: string) => {
    const parts = await readEmailRecord(storage, { teamId, id }, clock.now())
    if (!parts) throw refuse('not_found', { resource: 'Email' })
    return presentEmailRecord(parts, clock.now())
  }

  serve(app, getEmailRecord, {}, (request) => record(getCaller(request).teamId, request.params.id))

  serve(app, getEmailRecordPage, {}, async (request, reply) => {
    const page = renderEmailRecordPage(await record(getCaller(request).teamId, request.params.id))
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-disposition': `attachment; filename="${request.params.id}.html"`,
      })
      .send(page)
  })
}
