import type { FastifyRequest } from 'fastify'
import * as api from '../../api/contact-batches.ts'
import { parseSearchText } from '../../api/contact-search.ts'
import { parseId } from '../../api/parameters.ts'
import { presentList } from '../../api/shared.ts'
import type { SelectedContacts } from '../../audience/audience.ts'
import { refuse } from '../../mail/refusals.ts'
import type { ContactConditions } from '../../storage/storage.ts'
import { getCaller, isFromApp, createConsentContext } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'
import { toContactConditions } from './contacts.ts'

/** Routes for batches of contacts. */
export function contactBatchRoutes(app: App, { audience }: HttpDeps): void {
  serve(app, api.checkContacts, { audit: null, right: 'view' }, async (request) => {
    const { emails } = request.body
    const known = await audience.checkAddresses({ teamId: getCaller(request).teamId, emails })
    return presentList(emails.map((email, at) => api.presentCheckedContact(email, known[at] ?? null)))
  })

  serve(app, api.countMatchingContacts, { audit: null, right: 'view' }, async (request) => {
    const { teamId } = getCaller(request)
    const conditions = await readFilter(request.body.filter, teamId, audience)
    const { after } = request.body
    const from = after ? parseId(after, 'after') : undefined
    const counted = await audience.countMatching({ teamId, conditions, after: from })
    return { object: 'contacts_counted' as const, ...counted }
  })

  const about = { personal: true, looks: isFromApp } as const
  serve(app, api.addContacts, { audit: { action: 'contact.batch_add', ...about } }, async (request) => {
    const { emails, segment_ids: segmentIds = [] } = request.body
    const { teamId } = getCaller(request)
    const act = createConsentContext(request, false)
    const added = await audience.addContacts({ teamId, emails, segmentIds, act })
    return { object: 'contacts_added' as const, ...added }
  })

  serve(app, api.changeContacts, { audit: { action: 'contact.batch_change', ...about } }, async (request) => {
    const { teamId } = getCaller(request)
    const changed = await audience.changeContacts({
      teamId,
      picked: await pickedOf(request.body, teamId, audience),
      change: readChange(request.body),
      act: actOf(request),
    })
    return { object: 'contacts_changed' as const, ...changed }
  })
}

/** Batch changes never lift an opt-out. */
const actOf = (request: FastifyRequest) => createConsentContext(request, false)

/** Converts the requested change. Refuses: `missing_field`, `invalid_id`. */
function readChange(body: api.ChangeContacts) {
  const { segment_id: segment, topic_id: topic } = body
  const change = api.toContactBatchChange({
    ...body,
    ...(segment !== undefined && { segment_id: parseId(segment, 'segment_id') }),
    ...(topic !== undefined && { topic_id: parseId(topic, 'topic_id') }),
  })
  if (change) return change
  throw refuse('missing_field', { field: body.action.startsWith('opt_') ? 'topic_id' : 'segment_id' })
}

/** Converts the selection of contacts. Refuses: `missing_field`, `invalid_field`, `invalid_id`, `invalid_parameter`. */
async function pickedOf(
  { ids, filter, after }: api.ChangeContacts,
  teamId: string,
  audience: HttpDeps['audience'],
): Promise<SelectedContacts> {
  if (ids !== undefined && filter !== undefined)
    throw refuse('invalid_field', { field: 'ids', expected: 'either `ids` or `filter`, not both' })
  if (ids !== undefined) return { ids }
  if (filter === undefined) throw refuse('missing_field', { field: 'ids' })
  const conditions = await readFilter(filter, teamId, audience)
  return { conditions, ...(after ? { after: parseId(after, 'after') } : {}) }
}

/** Converts a filter. Refuses: `invalid_id`, `invalid_parameter`, `invalid_field`. */
async function readFilter(
  { text, segment_id: segment, topic_id: topic, rules, ...others }: api.ContactBatchFilter,
  teamId: string,
  audience: HttpDeps['audience'],
): Promise<ContactConditions> {
  const conditions = toContactConditions({
    ...others,
    ...(text !== undefined && { text: parseSearchText(text, 'text') }),
    ...(segment !== undefined && { segment_id: parseId(segment, 'segment_id') }),
    ...(topic !== undefined && { topic_id: parseId(topic, 'topic_id') }),
  })
  if (rules === undefined) return conditions
  return { ...conditions, rules: await audience.readRules({ teamId, rules }) }
}
