import type { FastifyRequest } from 'fastify'
import * as audiences from '../../api/audiences.ts'
import * as contacts from '../../api/contacts.ts'
import * as reach from '../../api/segment-reach.ts'
import * as api from '../../api/segments.ts'
import { paginateList, presentDeleted, presentRef, presentPage } from '../../api/shared.ts'
import { Refusal, refuse } from '../../mail/refusals.ts'
import { getCaller, isFromApp, createConsentContext, getObjectRef } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'
import { toNewContactInput, updateContact, identifyContact } from './contacts.ts'

/** Routes for segments, also under their older name. */
export function segmentRoutes(app: App, deps: HttpDeps): void {
  const { audience } = deps
  serve(app, api.createSegment, { audit: 'segment.create' }, async (request) => {
    const { id, name } = await create(request, audience)
    return { object: 'segment' as const, id, name }
  })
  serve(app, api.listSegments, {}, (request) => list(request, request.query, audience))
  serve(app, api.getSegment, {}, async (request) => ({
    object: 'segment' as const,
    ...api.presentSegment(await audience.getSegment(getObjectRef(request))),
  }))
  const updated = { audit: { action: 'segment.update', read: readSegment(audience) } } as const
  serve(app, api.updateSegment, updated, async (request) => {
    const { id } = request.params
    const { name, filter } = request.body
    await audience.updateSegment({
      ...getObjectRef(request),
      name: name ?? undefined,
      filter: filter ?? undefined,
    })
    return presentRef('segment', id)
  })
  const deleted = { audit: { action: 'segment.delete', read: readSegment(audience) } } as const
  serve(app, api.deleteSegment, deleted, async (request) => {
    await audience.deleteSegment(getObjectRef(request))
    return presentDeleted('segment', request.params.id)
  })
  serve(app, api.listSegmentContacts, {}, (request) =>
    members(request, request.params.id, request.query, audience),
  )
  serve(app, reach.getSegmentDays, {}, async (request) =>
    reach.presentSegmentDays(request.params.id, await audience.segmentDays(getObjectRef(request))),
  )
  serve(app, reach.getSegmentProviders, {}, async (request) => {
    const found = await deps.broadcasts.segmentReach(getObjectRef(request))
    const forecast = await deps.shaping.forecast(found.pool, found.providers, null)
    return reach.presentSegmentReach(request.params.id, found, forecast.providers)
  })
  audienceRoutes(app, deps)
  audienceContactRoutes(app, deps)
}

type AudienceDep = HttpDeps['audience']

/** Reads a segment for the audit log. */
const readSegment = (audience: AudienceDep) => async (request: FastifyRequest) =>
  api.presentSegment(await audience.getSegment(getObjectRef(request)))

async function create(request: FastifyRequest<{ Body: api.CreateSegment }>, audience: AudienceDep) {
  const { name, filter = null } = request.body
  return audience.createSegment({ teamId: getCaller(request).teamId, name, filter })
}

async function list(
  request: FastifyRequest,
  query: Parameters<typeof paginateList>[1],
  audience: AudienceDep,
) {
  const page = paginateList(await audience.listSegments({ teamId: getCaller(request).teamId }), query)
  return presentPage(page, api.presentSegment)
}

async function members(
  request: FastifyRequest,
  segmentId: string,
  query: { limit: number; after?: string | undefined; before?: string | undefined },
  audience: AudienceDep,
) {
  const { teamId } = getCaller(request)
  await audience.checkConditions(teamId, { segmentId })
  const page = await audience.listContacts({ teamId, segmentId, ...query })
  return presentPage(page, contacts.presentContactSummary)
}

function audienceRoutes(app: App, { audience }: HttpDeps): void {
  serve(app, audiences.createAudience, { audit: 'segment.create' }, async (request) => {
    const { id, name } = await create(request, audience)
    return { object: 'audience' as const, id, name }
  })
  serve(app, audiences.listAudiences, {}, (request) => list(request, request.query, audience))
  serve(app, audiences.getAudience, {}, async (request) => ({
    object: 'audience' as const,
    ...api.presentSegment(await audience.getSegment(getObjectRef(request))),
  }))
  const deleted = { audit: { action: 'segment.delete', read: readSegment(audience) } } as const
  serve(app, audiences.deleteAudience, deleted, async (request) => {
    await audience.deleteSegment(getObjectRef(request))
    return presentDeleted('audience', request.params.id)
  })
}

function audienceContactRoutes(app: App, { audience }: HttpDeps): void {
  const about = { personal: true, looks: isFromApp } as const
  const created = { audit: { action: 'contact.create', ...about } } as const
  serve(app, audiences.createAudienceContact, created, async (request) => {
    const { body, params } = request
    const contact = await audience.saveContact({
      teamId: getCaller(request).teamId,
      contact: {
        ...toNewContactInput(body),
        email: body.email,
        segmentIds: [params.audience_id],
        topics: [],
      },
      act: createConsentContext(request, false),
    })
    return contacts.presentContactRef(contact)
  })
  serve(app, audiences.listAudienceContacts, {}, (request) =>
    members(request, request.params.audience_id, request.query, audience),
  )
  serve(app, audiences.getAudienceContact, {}, async (request) => {
    await demandMember(request, request.params, audience)
    return contacts.presentContact(await audience.getContact(identifyContact(request, request.params)))
  })
  const updated = { audit: { action: 'contact.update', ...about } } as const
  serve(app, audiences.updateAudienceContact, updated, async (request) => {
    await demandMember(request, request.params, audience)
    return contacts.presentContactRef(await updateContact(request, request, audience))
  })
  const deleted = { audit: { action: 'contact.delete', ...about } } as const
  serve(app, audiences.deleteAudienceContact, deleted, async (request) => {
    await removeMember(request, request.params, audience)
    return contacts.presentContactDeleted(request.params.id)
  })
}

interface Member {
  audience_id: string
  id: string
}

/** Refuses: `not_found` for contacts that aren't in the segment. */
async function demandMember(request: FastifyRequest, params: Member, audience: AudienceDep): Promise<void> {
  const segmentId = params.audience_id
  await audience.checkConditions(getCaller(request).teamId, { segmentId })
  if (!(await audience.isInSegment({ ...identifyContact(request, params), segmentId })))
    throw refuse('not_found', { resource: 'Contact' })
}

/**
 * Removes a contact from a segment. Older clients delete a contact in its only audience, and get no error when it isn't
 * there.
 */
async function removeMember(request: FastifyRequest, params: Member, audience: AudienceDep): Promise<void> {
  try {
    await demandMember(request, params, audience)
    await audience.removeFromSegment({ ...identifyContact(request, params), segmentId: params.audience_id })
    const left = await audience.listContactSegments({ ...identifyContact(request, params), limit: 1 })
    if (left.items.length === 0) await audience.deleteContact(identifyContact(request, params))
  } catch (error) {
    // Someone else may have deleted it at the same time.
    if (!(error instanceof Refusal && error.key === 'not_found')) throw error
  }
}
