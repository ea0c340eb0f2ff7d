import {
  checkSchedule,
  readRequest,
  refuseNotOffered,
  type Contents,
  type Submission,
} from '../../intake/intake.ts'
import { refuse } from '../../mail/refusals.ts'
import type { Email } from '../../storage/storage.ts'
import { presentEmail, presentEmailSummary } from '../../wireformat/wireformat.ts'
import { presentTimeline, Timeline } from '../../api/timeline.ts'
import { presentList } from '../../api/shared.ts'
import { answerAccepted, dropAndNote, sameness } from '../accepted.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { readId, readPage } from '../query.ts'
import * as schema from '../schemas/emails.ts'

/** The paths of sending; the last three are what older clients of the hosted service call. */
const sendingPaths = ['/emails', '/email', '/emails/sending', '/email/sending']

/** Sending, second thoughts about it, and all that is known of what was sent. */
export function emailRoutes(app: App, deps: HttpDeps, contents: Contents): void {
  sendingRoutes(app, deps)
  changingRoutes(app, deps)
  readingRoutes(app, deps, contents)
}

function sendingRoutes(app: App, { intake, clock }: HttpDeps): void {
  const understand = (body: schema.SendEmail): Submission => {
    const now = clock.now()
    const submission = readRequest(body, now)
    checkSchedule(submission.scheduledAt, now)
    return submission
  }

  for (const path of sendingPaths) {
    app.post(
      path,
      {
        config: { right: 'send', audit: null, access: 'sending' },
        schema: { body: schema.SendEmail, response: { 200: schema.EmailCreated } },
        preValidation: (request, _reply, done) => {
          refuseNotOffered(request.body)
          dropAndNote(request, [request.body])
          done()
        },
      },
      async (request, reply) => {
        const accepted = await intake.accept(
          {
            submissions: async () => [understand(request.body)],
            ...sameness(request, 'POST /emails'),
            answer: ([id]) => ({ id }),
          },
          callerOf(request),
        )
        request.about.email_id = accepted.ids[0]!
        return answerAccepted(reply, accepted) as schema.EmailCreated
      },
    )
  }
}

function changingRoutes(app: App, { schedules }: HttpDeps): void {
  const { EmailChanged } = schema
  app.patch(
    '/emails/:id',
    {
      config: { right: 'send', audit: null },
      schema: { body: schema.UpdateEmail, response: { 200: EmailChanged } },
    },
    async (request) => {
      const { teamId } = callerOf(request)
      const id = readId(request.params)
      await schedules.reschedule({ teamId, id, scheduledAt: request.body.scheduled_at })
      return { object: 'email' as const, id }
    },
  )

  app.post(
    '/emails/:id/cancel',
    { config: { right: 'send', audit: null }, schema: { response: { 200: EmailChanged } } },
    async (request) => {
      const { teamId } = callerOf(request)
      const id = readId(request.params)
      await schedules.cancel({ teamId, id })
      return { object: 'email' as const, id }
    },
  )
}

function readingRoutes(app: App, { storage, shaping, clock }: HttpDeps, contents: Contents): void {
  const find = async (teamId: string, id: string): Promise<Email> => {
    const email = await storage.getEmail({ teamId, id }, clock.now())
    if (!email) throw refuse('not_found', { resource: 'Email' })
    return email
  }

  app.get('/emails', { schema: { response: { 200: schema.EmailList } } }, async (request) => {
    const { teamId } = callerOf(request)
    const page = await storage.listEmails({ teamId, ...readPage(request.query) }, clock.now())
    return presentList(page.items.map(presentEmailSummary), page.hasMore)
  })

  app.get('/emails/:id', { schema: { response: { 200: schema.Email } } }, async (request) => {
    const email = await find(callerOf(request).teamId, readId(request.params))
    return presentEmail(email, await contents.of(email))
  })

  app.get('/emails/:id/timeline', { schema: { response: { 200: Timeline } } }, async (request) => {
    const { teamId } = callerOf(request)
    const email = await find(teamId, readId(request.params))
    const history = await storage.getHistory({ teamId, id: email.id }, clock.now())
    return presentTimeline(email, history, await shaping.explain(history.deliveries))
  })

  app.get('/emails/:id/source', async (request, reply) => {
    const { id, via } = await find(callerOf(request).teamId, readId(request.params))
    // What the appliance wrote to a person may hold a link that is a key.
    if (via === 'notice') throw refuse('content_withheld')
    const message = await storage.getMessage({ emailId: id }, clock.now())
    if (!message) throw refuse('not_found', { resource: 'Email source' })
    return reply
      .type('message/rfc822')
      .header('content-disposition', `attachment; filename="${id}.eml"`)
      .send(Buffer.from(message.buffer, message.byteOffset, message.byteLength))
  })
}
