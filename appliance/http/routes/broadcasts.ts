import type { FastifyRequest } from 'fastify'
import * as api from '../../api/broadcasts.ts'
import * as resultApi from '../../api/broadcast-results.ts'
import * as reviewApi from '../../api/broadcast-review.ts'
import {
  chooseBroadcastVariant,
  type GivenAbTest,
  presentAbTestResults,
} from '../../api/broadcast-ab-test.ts'
import { toBacklogCounts, addSendingRates } from '../../api/broadcast-lanes.ts'
import { presentList, presentRef } from '../../api/shared.ts'
import { parseRequest } from '../../intake/intake.ts'
import { isId } from '../../mail/ids.ts'
import { refuse } from '../../mail/refusals.ts'
import { setAcceptedHeaders, identifyRequest } from '../accepted.ts'
import { getAuthorName, getCaller, getObjectRef } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV_TYPE, sendDownload } from '../download.ts'
import { serve } from '../serve.ts'
import { countTestEmails } from '../rate.ts'

const ref = (id: string) => presentRef('broadcast', id)

/** Routes for broadcasts. Everyone who may send email may send broadcasts. */
export function broadcastRoutes(app: App, deps: HttpDeps): void {
  draftRoutes(app, deps)
  sendingRoutes(app, deps)
  testRoute(app, deps)
  eligibleRoute(app, deps)
  contactRoute(app, deps)
  resultRoutes(app, deps)
  exportRoute(app, deps)
}

/** Formats a broadcast for the audit log, without its long HTML. */
export const createBroadcastReader =
  ({ broadcasts }: HttpDeps) =>
  async (request: FastifyRequest) => {
    const { id, name, status, segment_id, topic_id, scheduled_at, emails_per_hour, archive } =
      api.presentBroadcastSummary(await broadcasts.getBroadcast(getObjectRef(request)), String)
    return { id, name, status, segment_id, topic_id, scheduled_at, emails_per_hour, archive }
  }

/** Returns the time to send at. Typed clients send "" for unset fields. */
const timeOf = (body: { scheduled_at?: string | null } | null | undefined): string | null =>
  body?.scheduled_at === '' ? null : (body?.scheduled_at ?? null)

/** Converts a body to the fields of a draft. */
function draftOf(body: api.UpdateBroadcast) {
  const { name, segment_id, audience_id, exclude_segment_ids, topic_id, reply_to } = body
  const { from, subject, preview_text, html, text, document, emails_per_hour: hourlyRate, ab_test } = body
  const replies = typeof reply_to === 'string' ? [reply_to] : reply_to
  const said = <T>(key: string, value: T | null | undefined, none: T | null) =>
    value === undefined ? {} : { [key]: value ?? none }
  return {
    name: name ?? undefined,
    segmentId: segment_id ?? audience_id ?? undefined,
    exclude: exclude_segment_ids === null ? [] : exclude_segment_ids,
    // Typed clients send "" for unset fields.
    topicId: topic_id === '' ? null : topic_id,
    document,
    hourlyRate,
    abTest: ab_test && abTestOf(ab_test),
    archive: body.archive,
    content: {
      ...(typeof from === 'string' && { from }),
      ...(typeof subject === 'string' && { subject }),
      ...(reply_to !== undefined && { replyTo: replies ?? [] }),
      ...said('previewText', preview_text, null),
      ...said('html', html, null),
      ...said('text', text, null),
    },
  }
}

/** Converts an A/B test of a body. */
const abTestOf = ({ share, wait_hours: waitHours, variants = [] }: GivenAbTest & object) => ({
  share,
  waitHours,
  variants: variants.map(
    ({ from_name: fromName, subject, preview_text: previewText, html, text, document }) => ({
      fromName,
      subject,
      previewText,
      html,
      text,
      document,
    }),
  ),
})

function draftRoutes(app: App, deps: HttpDeps): void {
  const { archive, broadcasts, shaping } = deps
  const read = createBroadcastReader(deps)
  const created = { right: 'send', audit: 'broadcast.create' } as const
  serve(app, api.createBroadcast, created, async (request) => {
    const { send } = request.body
    const scheduledAt = timeOf(request.body)
    if (scheduledAt !== null && send !== true)
      throw refuse('invalid_field', { field: 'scheduled_at', expected: 'only with `send`: true' })
    const caller = getCaller(request)
    const author = getAuthorName(request)
    // Typed clients send "" for unset fields.
    const template = request.body.template_id === '' ? undefined : (request.body.template_id ?? undefined)
    const draft = { ...draftOf(request.body), template }
    const { id } = await broadcasts.createBroadcast({ teamId: caller.teamId, draft, author })
    if (send) await broadcasts.sendBroadcast({ caller, id, scheduledAt })
    return ref(id)
  })
  serve(app, api.listBroadcasts, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { segment_id: segmentId, ...query } = request.query
    const page = await broadcasts.listBroadcasts({ teamId, segmentId, ...query })
    const items = await Promise.all(page.items.map((one) => broadcasts.refreshed(one)))
    const nameOf = await shaping.names()
    return presentList(
      items.map((one) => api.presentBroadcastSummary(one, nameOf)),
      page.hasMore,
    )
  })
  serve(app, api.getBroadcast, {}, async (request) => {
    const found = await broadcasts.refreshed(await broadcasts.getBroadcast(getObjectRef(request)))
    const inFlight = await broadcasts.inFlight(getObjectRef(request))
    const archiveUrl = await archive.pageUrl(found)
    return api.presentBroadcast(found, inFlight, await shaping.names(), archiveUrl)
  })
  const updated = { right: 'send', audit: { action: 'broadcast.update', read } } as const
  serve(app, api.updateBroadcast, updated, async (request) => {
    const { edits } = request.body
    const by = { author: getAuthorName(request), edits }
    await broadcasts.updateBroadcast({ ...getObjectRef(request), draft: draftOf(request.body), ...by })
    return ref(request.params.id)
  })
  const deleted = { right: 'send', audit: { action: 'broadcast.delete', read } } as const
  serve(app, api.deleteBroadcast, deleted, async (request) => {
    await broadcasts.deleteBroadcast(getObjectRef(request))
    return { ...ref(request.params.id), deleted: true as const }
  })
  // The audit entry is about the new broadcast.
  serve(app, api.duplicateBroadcast, created, async (request) => {
    const by = { author: getAuthorName(request), without: request.body?.without }
    return ref((await broadcasts.duplicateBroadcast({ ...getObjectRef(request), ...by })).id)
  })
}

function sendingRoutes(app: App, deps: HttpDeps): void {
  const { broadcasts } = deps
  const read = createBroadcastReader(deps)
  const sent = { right: 'send', audit: { action: 'broadcast.send', read } } as const
  const canceled = { right: 'send', audit: { action: 'broadcast.cancel', read } } as const
  const paused = { right: 'send', audit: { action: 'broadcast.pause', read } } as const
  const resumed = { right: 'send', audit: { action: 'broadcast.resume', read } } as const
  const chosen = { right: 'send', audit: { action: 'broadcast.choose_variant', read } } as const
  serve(app, api.sendBroadcast, sent, async (request) => {
    const scheduledAt = timeOf(request.body)
    const edits = request.body?.edits
    await broadcasts.sendBroadcast({ caller: getCaller(request), id: request.params.id, scheduledAt, edits })
    return ref(request.params.id)
  })
  serve(app, chooseBroadcastVariant, chosen, async (request) => {
    const { variant } = request.body
    await broadcasts.getBroadcast(getObjectRef(request))
    if (variant === undefined || variant === '') throw refuse('missing_field', { field: 'variant' })
    await broadcasts.chooseVariant({ ...getObjectRef(request), variant })
    return ref(request.params.id)
  })
  serve(app, api.cancelBroadcast, canceled, async (request) => {
    await broadcasts.cancelBroadcast(getObjectRef(request))
    return ref(request.params.id)
  })
  serve(app, api.pauseBroadcast, paused, async (request) => {
    await broadcasts.pauseBroadcast(getObjectRef(request))
    const inFlight = await broadcasts.inFlight(getObjectRef(request))
    return { ...ref(request.params.id), in_flight: inFlight }
  })
  serve(app, api.resumeBroadcast, resumed, async (request) => {
    // Typed clients send "" for unset fields.
    const provider = request.body?.provider ?? ''
    if (provider === '') await broadcasts.resumeBroadcast(getObjectRef(request))
    else await broadcasts.resumeProvider({ ...getObjectRef(request), provider })
    return ref(request.params.id)
  })
}

/** Route for the number of contacts that would get a draft. */
function eligibleRoute(app: App, { broadcasts }: HttpDeps): void {
  serve(app, reviewApi.countBroadcastEligible, {}, async (request) => ({
    ...presentRef('broadcast_eligible', request.params.id),
    ...(await broadcasts.countEligible(getObjectRef(request))),
  }))
}

/** Route for the drafts that a contact would get. */
function contactRoute(app: App, { audience, broadcasts }: HttpDeps): void {
  serve(app, reviewApi.listContactBroadcasts, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { id: contactId } = await audience.getContact({ teamId, idOrEmail: request.params.id })
    const prospects = await broadcasts.contactProspects({ teamId, contactId })
    return presentList(prospects.map(reviewApi.presentContactBroadcast), false)
  })
}

/** Maximum number of addresses of a test. */
const MOST_TESTS = 5

/** Route for sending the current draft to a few addresses. */
function testRoute(app: App, deps: HttpDeps): void {
  const { broadcasts, intake, clock } = deps
  serve(app, reviewApi.testBroadcast, { right: 'send', audit: null }, async (request, reply) => {
    const caller = getCaller(request)
    const { id } = request.params
    const contact = request.body.contact_id ?? null
    const { variant } = request.body
    const { sample, edits } = await broadcasts.sampleBroadcast({ caller, id, contact, variant })
    const to = [request.body.to ?? []].flat()
    if (to.length === 0) throw refuse('missing_field', { field: 'to' })
    if (to.length > MOST_TESTS) throw refuse('too_many_recipients', { field: 'to', limit: MOST_TESTS })
    await countTestEmails(deps, caller.teamId, to.length)
    const submissions = to.map((one) => parseRequest({ ...sample, to: [one] }, clock.now()))
    const name = identifyRequest(request, `POST /broadcasts/${id}/test`)
    const accepted = await intake.accept({ submissions, ...name }, caller)
    setAcceptedHeaders(reply, accepted)
    await broadcasts.noteBroadcastTest({ ...getObjectRef(request), edits })
    return { ...ref(id), email_ids: accepted.ids }
  })
}

function resultRoutes(app: App, { broadcasts, shaping, clock }: HttpDeps): void {
  serve(app, reviewApi.reviewBroadcast, {}, async (request) => {
    const { id } = request.params
    const review = await broadcasts.reviewBroadcast({ caller: getCaller(request), id })
    const forecast = await shaping.forecast(review.pool, review.providers, review.hourlyRate)
    return reviewApi.presentReview(review, forecast, Math.max(review.scheduledAt ?? 0, clock.now()))
  })
  serve(app, resultApi.getBroadcastResults, {}, async (request) => {
    const about = getObjectRef(request)
    const broadcast = await broadcasts.getBroadcast(about)
    const providers = await broadcasts.providerResults(about)
    const backlogs = await shaping.backlog(toBacklogCounts(providers), false)
    const reach = await broadcasts.broadcastReach(about)
    const curve = await broadcasts.curve(about)
    const earlier = await broadcasts.earlierRates(about)
    const lanes = addSendingRates(backlogs, await shaping.rates())
    const abTest = presentAbTestResults(broadcast, await broadcasts.abTestResult(broadcast))
    const present = { broadcast, lanes, now: clock.now(), abTest }
    return resultApi.presentResults(reach, providers, { curve, earlier }, present)
  })
  serve(app, resultApi.listBroadcastRecipients, {}, async (request) => {
    await broadcasts.getBroadcast(getObjectRef(request))
    const { limit, after, before, type, email, bounce_type: bounceType } = request.query
    if (type === undefined) throw refuse('missing_field', { field: 'type' })
    for (const [parameter, cursor] of Object.entries({ after, before }))
      if (cursor !== undefined && !isId(cursor))
        throw refuse('invalid_parameter', { parameter, expected: 'the id of a row of this list' })
    if (bounceType !== undefined && type !== 'bounced')
      throw refuse('invalid_parameter', { parameter: 'bounce_type', expected: 'only with `type=bounced`' })
    const kinds = { permanent: 'Permanent', transient: 'Transient', undetermined: 'Undetermined' } as const
    const page = await broadcasts.listRecipients({
      ...getObjectRef(request),
      limit,
      after,
      before,
      type,
      email,
      bounceType: bounceType && kinds[bounceType],
    })
    return presentList(
      page.items.map((one) => resultApi.presentRecipient(type, one)),
      page.hasMore,
    )
  })
  serve(app, resultApi.listBroadcastLinks, {}, async (request) => {
    const { limit, after, before } = request.query
    const end = before === undefined ? undefined : offsetOf(before)
    const offset =
      end === undefined ? (after === undefined ? 0 : offsetOf(after) + 1) : Math.max(0, end - limit)
    const most = end === undefined ? limit : Math.max(1, end - offset)
    const page = await broadcasts.listClickedLinks({ ...getObjectRef(request), offset, limit: most })
    const rows = page.items.map(({ url, clicks, uniqueClicks }, at) => ({
      id: cursorOf(offset + at),
      url,
      clicks,
      unique_clicks: uniqueClicks,
    }))
    return presentList(rows, end === undefined ? page.hasMore : offset > 0)
  })
}

/** Route for a file of all recipients. */
function exportRoute(app: App, deps: HttpDeps): void {
  const { broadcasts } = deps
  const audit = { action: 'broadcast.export', read: createBroadcastReader(deps) } as const
  serve(app, resultApi.exportBroadcastRecipients, { right: 'export', audit }, async (request, reply) => {
    // Check before the response begins, so that an unknown broadcast is refused.
    await broadcasts.getBroadcast(getObjectRef(request))
    const file = {
      name: 'broadcast-recipients.csv',
      type: CSV_TYPE,
      pages: broadcasts.allRecipients({ ...getObjectRef(request), type: request.query.type }),
      head: resultApi.formatRecipientHeader(),
      write: resultApi.formatRecipientRow,
    }
    return sendDownload(request, reply, file, deps)
  })
}

/** Encodes a cursor. Links are ordered by clicks, so it is an offset in the list. */
const cursorOf = (offset: number): string => Buffer.from(`offset:${offset}`).toString('base64url')
const offsetOf = (cursor: string): number =>
  Number(/^offset:(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'))?.[1] ?? NaN)
