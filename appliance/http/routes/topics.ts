import type { FastifyRequest } from 'fastify'
import * as properties from '../../api/contact-properties.ts'
import { paginateList, presentDeleted, presentList, presentRef } from '../../api/shared.ts'
import * as api from '../../api/topics.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

const ref = (request: FastifyRequest) => ({
  teamId: getCaller(request).teamId,
  id: (request.params as { id: string }).id,
})

/** Routes for topics and contact properties. */
export function topicRoutes(app: App, deps: HttpDeps): void {
  const { audience } = deps
  const read = async (request: FastifyRequest) => api.presentTopic(await audience.getTopic(ref(request)))
  serve(
    app,
    api.createTopic,
    { audit: { action: 'topic.create', noun: 'topic' } },
    async (request, reply) => {
      const { name, description = null, default_subscription: defaultSubscription, visibility } = request.body
      const topic = { name, description, defaultSubscription, visibility: visibility ?? 'private' }
      const { id } = await audience.createTopic({ teamId: getCaller(request).teamId, topic })
      void reply.code(201)
      return presentRef('topic', id)
    },
  )
  serve(app, api.listTopics, {}, async (request) => {
    const topics = await audience.listTopics({ teamId: getCaller(request).teamId })
    const page = paginateList(topics, request.query)
    return presentList(page.items.map(api.presentTopic), page.hasMore)
  })
  serve(app, api.getTopic, {}, async (request) => ({ object: 'topic' as const, ...(await read(request)) }))
  serve(app, api.updateTopic, { audit: { action: 'topic.update', noun: 'topic', read } }, async (request) => {
    const { name, description, visibility } = request.body
    const change = { name: name ?? undefined, description, visibility: visibility ?? undefined }
    const { id } = await audience.updateTopic({ ...ref(request), change })
    return presentRef('topic', id)
  })
  serve(app, api.deleteTopic, { audit: { action: 'topic.delete', noun: 'topic', read } }, async (request) => {
    const { id } = await audience.deleteTopic(ref(request))
    return presentDeleted('topic', id)
  })
  propertyRoutes(app, deps)
}

function propertyRoutes(app: App, { audience }: HttpDeps): void {
  const noun = 'contact_property' as const
  const read = async (request: FastifyRequest) =>
    properties.presentProperty(await audience.getProperty(ref(request)))
  serve(
    app,
    properties.createContactProperty,
    { audit: { action: 'contact_property.create', noun } },
    async (request, reply) => {
      const { key, type, fallback_value: fallback } = request.body
      const { teamId } = getCaller(request)
      const { id } = await audience.createProperty({ teamId, key, type, fallback })
      void reply.code(201)
      return { object: noun, id }
    },
  )
  serve(app, properties.listContactProperties, {}, async (request) => {
    const all = await audience.listProperties({ teamId: getCaller(request).teamId })
    const page = paginateList(all, request.query)
    return presentList(page.items.map(properties.presentProperty), page.hasMore)
  })
  serve(app, properties.getContactProperty, {}, async (request) => ({
    object: noun,
    ...(await read(request)),
    examples: await audience.propertyExamples(ref(request)),
    used_in: (await audience.propertyUses(ref(request))).map(properties.presentPropertyUse),
  }))
  serve(
    app,
    properties.updateContactProperty,
    { audit: { action: 'contact_property.update', noun, read } },
    async (request) => {
      const { fallback_value: fallback } = request.body
      if (fallback !== undefined) await audience.setFallback({ ...ref(request), fallback })
      else await audience.getProperty(ref(request))
      return { object: noun, id: request.params.id }
    },
  )
  serve(
    app,
    properties.deleteContactProperty,
    { audit: { action: 'contact_property.delete', noun, read } },
    async (request) => {
      await audience.deleteProperty(ref(request))
      return presentDeleted(noun, request.params.id)
    },
  )
}
