import type { FastifyReply } from 'fastify'
import { isId } from '../../mail/ids.ts'
import { refuse } from '../../mail/refusals.ts'
import type { Email } from '../../storage/storage.ts'
import { presentPostmaster, presentReturned } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'
import { readId, readPage } from '../query.ts'
import * as schema from '../schemas/received.ts'

type Deps = Pick<HttpDeps, 'storage' | 'clock'>

/** What came back to the return path of an email. */
export function returnedRoutes(app: App, { storage, clock }: Deps): void {
  const find = async (teamId: string, id: string): Promise<Email> => {
    const email = await storage.getEmail({ teamId, id }, clock.now())
    if (!email) throw refuse('not_found', { resource: 'Email' })
    return email
  }

  app.get(
    '/emails/:id/returned',
    { schema: { response: { 200: schema.ReturnedMessageList } } },
    async (request) => {
      const { teamId } = callerOf(request)
      const { id: emailId } = await find(teamId, readId(request.params))
      return presentList((await storage.listReturned({ teamId, emailId }, clock.now())).map(presentReturned))
    },
  )

  app.get('/emails/:id/returned/:returned_id', async (request, reply) => {
    const { teamId } = callerOf(request)
    const id = readReturnedId(request.params)
    const email = await find(teamId, readId(request.params))
    // It quotes what the appliance wrote to a person, which may hold a link that is a key.
    if (email.via === 'notice') throw refuse('content_withheld')
    const bytes = await storage.getReturned({ teamId, emailId: email.id, id }, clock.now())
    return sendMessage(reply, id, bytes)
  })
}

/** Mail to postmaster and abuse, for the team that runs the appliance. */
export function postmasterRoutes(app: App, { storage, clock }: Deps): void {
  const preHandler = requireOperator({ storage, clock })

  app.get(
    '/postmaster',
    { preHandler, schema: { response: { 200: schema.PostmasterMessageList } } },
    async (request) => {
      const { items, hasMore } = await storage.listPostmaster(readPage(request.query), clock.now())
      return presentList(items.map(presentPostmaster), hasMore)
    },
  )

  app.get('/postmaster/:id/source', { preHandler }, async (request, reply) => {
    const id = readId(request.params)
    return sendMessage(reply, id, await storage.getPostmaster({ id }, clock.now()))
  })
}

function readReturnedId(params: unknown): string {
  const { returned_id: id } = params as { returned_id: string }
  if (!isId(id)) throw refuse('invalid_id', { parameter: 'returned_id' })
  return id.toLowerCase()
}

/** A stranger's message: it is saved and never shown, whatever it holds. */
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
