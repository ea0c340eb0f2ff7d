import type { FastifyRequest } from 'fastify'
import { countContacts, presentCounts } from '../../api/contact-counts.ts'
import * as details from '../../api/contact-details.ts'
import * as api from '../../api/contacts.ts'
import { exportPerson, personText } from '../../api/person.ts'
import { paginateList, presentList, presentPage } from '../../api/shared.ts'
import type { Subscription } from '../../mail/audience.ts'
import type { Contact } from '../../storage/storage.ts'
import { getCaller, isFromApp, createConsentContext } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV_TYPE, sendDownload, JSON_TYPE } from '../download.ts'
import { serve } from '../serve.ts'

/** Routes for contacts, by id or address. */
export function contactRoutes(app: App, deps: HttpDeps): void {
  listRoutes(app, deps)
  const { audience } = deps
  const created = { audit: { action: 'contact.create', personal: true, looks: isFromApp } } as const
  serve(app, api.createContact, created, async (request) => {
    const { body } = request
    const contact = await audience.saveContact({
      teamId: getCaller(request).teamId,
      contact: {
        ...toNewContactInput(body),
        email: body.email,
        segmentIds: api.extractSegmentIds(body),
        topics: body.topics ?? [],
      },
      act: createConsentContext(request, false),
    })
    return api.presentContactRef(contact)
  })

  serve(app, api.getContact, {}, async (request) =>
    api.presentContact(await audience.getContact(identifyContact(request, request.params))),
  )

  serve(
    app,
    api.updateContact,
    { audit: { action: 'contact.update', personal: true, looks: isFromApp } },
    async (request) => api.presentContactRef(await updateContact(request, request, audience)),
  )

  const deleted = { audit: { action: 'contact.delete', personal: true, looks: isFromApp } } as const
  serve(app, api.deleteContact, deleted, async (request) => {
    const { id } = await audience.deleteContact(identifyContact(request, request.params))
    return api.presentContactDeleted(id)
  })
  detailRoutes(app, deps)
}

function listRoutes(app: App, deps: HttpDeps): void {
  const { audience } = deps
  serve(app, api.listContacts, {}, async (request) => {
    const { segment_id: segmentId, ...query } = request.query
    const { teamId } = getCaller(request)
    await audience.checkConditions(teamId, { segmentId })
    const page = await audience.listContacts({ teamId, segmentId, ...query })
    return presentPage(page, api.presentContactSummary)
  })

  serve(app, api.searchContacts, {}, async (request) => {
    const { limit, after, rules, ...asked } = request.query
    const { teamId } = getCaller(request)
    const conditions = {
      ...toContactConditions(asked),
      ...(rules !== undefined && { rules: await audience.readRules({ teamId, rules }) }),
    }
    await audience.checkConditions(teamId, conditions)
    const { items, next, context } = await audience.searchContacts({ teamId, limit, after, ...conditions })
    const data = items.map((contact) => api.presentFoundContact(contact, context))
    return { ...presentList(data, next !== null), next }
  })

  const audit = { action: 'contact.export', personal: true } as const
  serve(app, api.exportContacts, { right: 'export', audit }, async (request, reply) => {
    const { segment_id: segmentId, unsubscribed } = request.query
    const { teamId } = getCaller(request)
    await audience.checkConditions(teamId, { segmentId })
    const properties = await audience.listProperties({ teamId })
    const pages = audience.allContacts({ teamId, segmentId, unsubscribed })
    const write = (contact: Contact) => api.formatContactRow(properties, contact)
    const file = {
      name: 'contacts.csv',
      type: CSV_TYPE,
      pages,
      head: api.formatContactHeader(properties),
      write,
    }
    return sendDownload(request, reply, file, deps)
  })

  serve(app, exportPerson, { right: 'export', audit }, async (request, reply) => {
    const { teamId } = getCaller(request)
    const person = await audience.getPerson(identifyContact(request, request.params))
    const { address } = person
    const emails = audience.emailsOfPerson({ teamId, address })
    const counts = () => deps.erasures.survey({ teamId, address })
    const pages = personText({ person, emails, counts }, deps.clock.now())
    const write = (text: string) => text
    const file = { name: 'person.json', type: JSON_TYPE, pages, head: '', write }
    return sendDownload(request, reply, file, deps)
  })

  serve(app, countContacts, {}, async (request) =>
    presentCounts(await audience.countContacts({ teamId: getCaller(request).teamId })),
  )
}

/** Routes for a contact's segments, topics and consent log. */
function detailRoutes(app: App, { audience }: HttpDeps): void {
  serve(app, details.listContactSegments, {}, async (request) =>
    presentPage(
      await audience.listContactSegments({
        ...identifyContact(request, request.params),
        ...request.query,
      }),
      details.presentContactSegment,
    ),
  )

  const audit = { action: 'contact.update', personal: true, looks: isFromApp } as const
  serve(app, details.addContactToSegment, { audit }, async (request) => {
    const segmentId = request.params.segment_id
    const { id } = await audience.addToSegment({ ...identifyContact(request, request.params), segmentId })
    return details.presentMembership(id, segmentId)
  })

  serve(app, details.removeContactFromSegment, { audit }, async (request) => {
    const segmentId = request.params.segment_id
    const { id } = await audience.removeFromSegment({
      ...identifyContact(request, request.params),
      segmentId,
    })
    return { ...details.presentMembership(id, segmentId), deleted: true as const }
  })

  serve(app, details.listContactTopics, {}, async (request) => {
    const topics = await audience.listContactTopics(identifyContact(request, request.params))
    return presentPage(paginateList(topics, request.query), details.presentContactTopic)
  })

  serve(app, details.updateContactTopics, { audit }, async (request) => {
    const topics = Array.isArray(request.body) ? request.body : request.body.topics
    const { id } = await audience.setContactTopics({
      ...identifyContact(request, request.params),
      topics,
      act: createConsentContext(request, true),
    })
    return { object: 'contact_topics' as const, id, contact_id: id, topics }
  })

  serve(app, details.listContactConsents, {}, async (request) => {
    const page = paginateList(
      await audience.listConsents(identifyContact(request, request.params)),
      request.query,
    )
    return presentPage(page, details.presentConsent)
  })
}

interface Conditions {
  text?: string | undefined
  segment_id?: string | undefined
  unsubscribed?: boolean | undefined
  topic_id?: string | undefined
  subscription?: Subscription | undefined
  suppressed?: boolean | undefined
}

/** Converts the parameters of a search. */
export const toContactConditions = ({ text, segment_id, topic_id, subscription, ...flags }: Conditions) => ({
  text,
  segmentId: segment_id,
  unsubscribed: flags.unsubscribed,
  suppressed: flags.suppressed,
  topic: topic_id === undefined ? undefined : { id: topic_id, subscription: subscription ?? 'opt_in' },
})

/** Identifies the contact in a path. */
export const identifyContact = (request: FastifyRequest, { id }: { id: string }) => ({
  teamId: getCaller(request).teamId,
  idOrEmail: id,
})

type Fields = Pick<api.UpdateContact, 'email' | 'first_name' | 'last_name' | 'unsubscribed' | 'properties'>

/** Converts the fields of a new contact. Typed clients send null for unset fields. */
export const toNewContactInput = ({ first_name, last_name, unsubscribed, properties }: Fields) => ({
  firstName: first_name ?? undefined,
  lastName: last_name ?? undefined,
  unsubscribed: unsubscribed ?? undefined,
  properties: properties ?? undefined,
})

/** Updates the contact in a path; null removes a name. */
export function updateContact(
  request: FastifyRequest,
  { params, body }: { params: { id: string }; body: Fields },
  audience: HttpDeps['audience'],
) {
  const { email, first_name: firstName, last_name: lastName, unsubscribed, properties } = body
  return audience.updateContact({
    ...identifyContact(request, params),
    email: email ?? undefined,
    change: {
      firstName,
      lastName,
      unsubscribed: unsubscribed ?? undefined,
      properties: properties ?? undefined,
    },
    act: createConsentContext(request, true),
  })
}
