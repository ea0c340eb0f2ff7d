import type { FastifyRequest } from 'fastify'
import * as properties from '../../api/contact-properties.ts'
import { paginateList, presentDeleted, presentRef, presentPage } from '../../api/shared.ts'
import * as api from '../../api/topics.ts'
import { getCaller, getObjectRef } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for topics and contact properties. */
export function topicRoutes(app: App, deps: HttpDeps): void {
  const { audience } = deps
  const read = async (request: FastifyRequest) =>
    api.presentTopic(await audience.getTopic(getObjectRef(request)))
  serve(app, api.createTopic, { audit: 'topic.create' }, async (request) => {
    const { name, description = null, default_subscription: defaultSubscription, visibility } = request.body
    const topic = { name, description, defaultSubscription, visibility: visibility ?? 'private' }
    const { id } = await audience.createTopic({ teamId: getCaller(request).teamId, topic })
    return presentRef('topic', id)
  })
  serve(app, api.listTopics, {}, async (request) => {
    const topics = await audience.listTopics({ teamId: getCaller(request).teamId })
    return presentPage(paginateList(topics, request.query), api.presentTopic)
  })
  serve(app, api.getTopic, {}, async (request) => ({ object: 'topic' as const, ...(await read(request)) }))
  serve(app, api.updateTopic, { audit: { action: 'topic.update', read } }, async (request) => {
    const { name, description, visibility } = request.body
    const change = { name: name ?? undefined, description, visibility: visibility ?? undefined }
    const { id } = await audience.updateTopic({ ...getObjectRef(request), change })
    return presentRef('topic', id)
  })
  serve(app, api.deleteTopic, { audit: { action: 'topic.delete', read } }, async (request) => {
    const { id } = await audience.deleteTopic(getObjectRef(request))
    return presentDeleted('topic', id)
  })
  propertyRoutes(app, deps)
}

function propertyRoutes(app: App, { audience }: HttpDeps): void {
  const noun = 'contact_property' as const
  const read = async (request: FastifyRequest) =>
    properties.presentProperty(await audience.getProperty(getObjectRef(request)))
  serve(app, properties.createContactProperty, { audit: 'contact_property.create' }, async (request) => {
    const { key, type, fallback_value: fallback } = request.body
    const { teamId } = getCaller(request)
    const { id } = await audience.createProperty({ teamId, key, type, fallback })
    return { object: noun, id }
  })
  serve(app, properties.listContactProperties, {}, async (request) => {
    const all = await audience.listProperties({ teamId: getCaller(request).teamId })
    return presentPage(paginateList(all, request.query), properties.presentProperty)
  })
  serve(app, properties.getContactProperty, {}, async (request) => ({
    object: noun,
    ...(await read(request)),
    examples: await audience.propertyExamples(getObjectRef(request)),
    used_in: (await audience.propertyUses(getObjectRef(request))).map(properties.presentPropertyUse),
  }))
  const updated = { audit: { action: 'contact_property.update', read } } as const
  serve(app, properties.updateContactProperty, updated, async (request) => {
    const { fallback_value: fallback } = request.body
    if (fallback !== undefined) await audience.setFallback({ ...getObjectRef(request), fallback })
    else await audience.getProperty(getObjectRef(request))
    return { object: noun, id: request.params.id }
  })
  const deleted = { audit: { action: 'contact_property.delete', read } } as const
  serve(app, properties.deleteContactProperty, deleted, async (request) => {
    await audience.deleteProperty(getObjectRef(request))
    return presentDeleted(noun, request.params.id)
  })
}
