import * as api from '../../api/received.ts'
import { serve } from '../serve.ts'
import type { FastifyReply } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import type { Email } from '../../storage/storage.ts'
import { presentList, presentPage } from '../../api/shared.ts'
import { getCaller, requireOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

type Deps = Pick<HttpDeps, 'storage' | 'clock'>

/** Routes for messages that were returned for an email. */
export function returnedMessageRoutes(app: App, { storage, clock }: Deps): void {
  const find = async (teamId: string, id: string): Promise<Email> => {
    const email = await storage.getEmail({ teamId, id }, clock.now())
    if (!email) throw refuse('not_found', { resource: 'Email' })
    return email
  }

  serve(app, api.listReturnedMessages, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { id: emailId } = await find(teamId, request.params.id)
    return presentList(
      (await storage.listReturned({ teamId, emailId }, clock.now())).map(api.presentReturnedMessage),
    )
  })

  serve(app, api.getReturnedMessage, {}, async (request, reply) => {
    const { teamId } = getCaller(request)
    const id = request.params.returned_id
    const email = await find(teamId, request.params.id)
    // The message quotes mail of this server that may contain a secret link.
    if (email.via === 'notice') throw refuse('content_withheld')
    const bytes = await storage.getReturned({ teamId, emailId: email.id, id }, clock.now())
    return sendMessage(reply, id, bytes)
  })
}

/** Routes for mail to postmaster and abuse, for the team that runs the server. */
export function postmasterRoutes(app: App, { storage, clock }: Deps): void {
  const preValidation = requireOperator({ storage, clock })

  serve(app, api.listPostmasterMessages, { preValidation }, async (request) =>
    presentPage(await storage.listPostmaster(request.query, clock.now()), api.presentPostmasterMessage),
  )

  serve(app, api.getPostmasterMessage, { preValidation }, async (request, reply) => {
    const id = request.params.id
    return sendMessage(reply, id, await storage.getPostmaster({ id }, clock.now()))
  })
}

/** Sends an untrusted message. It is always downloaded, never shown. */
function sendMessage(reply: FastifyReply, id: string, bytes: Uint8Array | undefined): FastifyReply {
  if (!bytes) throw refuse('not_found', { resource: 'Message' })
  return reply
    .type('message/rfc822')
    .headers({
      'content-disposition': `attachment; filename="${id}.eml"`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
}
