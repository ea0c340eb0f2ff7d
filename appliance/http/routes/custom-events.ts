import type { FastifyRequest } from 'fastify'
import * as api from '../../api/custom-events.ts'
import { presentDeleted, presentRef, presentPage } from '../../api/shared.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

const named = (request: FastifyRequest) => ({
  teamId: getCaller(request).teamId,
  which: (request.params as { identifier: string }).identifier,
})

/** Routes for custom events. */
export function customEventRoutes(app: App, { customEvents }: HttpDeps): void {
  const noun = 'event' as const
  const read = async (request: FastifyRequest) =>
    api.presentEvent(await customEvents.getEvent(named(request)))
  serve(app, api.createEvent, { audit: 'event.create' }, async (request) => {
    const { name, schema } = request.body
    const { id } = await customEvents.createEvent({ teamId: getCaller(request).teamId, name, schema })
    return presentRef(noun, id)
  })
  serve(app, api.listEvents, {}, async (request) =>
    presentPage(
      await customEvents.listEvents({
        teamId: getCaller(request).teamId,
        ...request.query,
      }),
      api.presentEvent,
    ),
  )
  serve(app, api.sendEvent, { audit: null }, async (request) => {
    const { event, contact_id: contactId, email, payload } = request.body
    const input = { event, contactId, email, payload }
    const sent = await customEvents.sendEvent({ teamId: getCaller(request).teamId, input })
    return { object: noun, event: sent.event }
  })
  serve(app, api.getEvent, {}, async (request) => ({ object: noun, ...(await read(request)) }))
  serve(app, api.updateEvent, { audit: { action: 'event.update', read } }, async (request) => {
    const { id } = await customEvents.updateEvent({ ...named(request), schema: request.body.schema })
    return presentRef(noun, id)
  })
  serve(app, api.deleteEvent, { audit: { action: 'event.delete', read } }, async (request) => {
    const { id } = await customEvents.deleteEvent(named(request))
    return presentDeleted(noun, id)
  })
  serve(app, api.listSentEvents, {}, async (request) =>
    presentPage(await customEvents.listSent({ ...named(request), ...request.query }), api.presentSentEvent),
  )
}
