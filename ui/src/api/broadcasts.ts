/** API calls for broadcasts. */
import type { Static } from 'typebox'
import type {
  Broadcast,
  BroadcastList,
  BroadcastPaused,
  BroadcastRef,
  BroadcastSummary,
  CreateBroadcast,
  DuplicateBroadcast,
  UpdateBroadcast,
} from '../../../appliance/api/broadcasts.ts'
import type {
  BroadcastResults as Results,
  ClickedLinkList,
  RecipientList,
} from '../../../appliance/api/broadcast-results.ts'
import type { BroadcastVersion, BroadcastVersionList } from '../../../appliance/api/broadcast-versions.ts'
import type {
  BroadcastEligible,
  BroadcastReview as Review,
  TestBroadcast,
} from '../../../appliance/api/broadcast-review.ts'
import { describeInFlight } from '../../../appliance/mail/broadcast.ts'
import { change, read } from './client.ts'

export type { Broadcast, BroadcastSummary }
export type BroadcastReview = Static<typeof Review>
export type BroadcastResults = Static<typeof Results>
type Ref = Static<typeof BroadcastRef>

const at = (id: string) => `/broadcasts/${encodeURIComponent(id)}`

/**
 * Lists one page of broadcasts.
 * @param filter empty strings are ignored
 */
export function listBroadcasts(
  filter: {
    text: string
    status: string
    segment_id: string
    after: string | null
    before: string | null
  },
  signal?: AbortSignal,
) {
  const query = new URLSearchParams({ limit: '50' })
  for (const [name, value] of Object.entries(filter))
    if (value !== null && value !== '') query.set(name, value)
  return read<Static<typeof BroadcastList>>(`/broadcasts?${query}`, signal)
}

/** Lists the broadcasts that are being sent or are paused, at most 20. */
export const listSendingBroadcasts = async (signal?: AbortSignal) =>
  (await read<Static<typeof BroadcastList>>('/broadcasts?limit=20&status=queued', signal)).data

/** Lists the last 100 broadcasts that were sent, newest first. */
export const listLastBroadcasts = async (signal?: AbortSignal) =>
  (await read<Static<typeof BroadcastList>>('/broadcasts?limit=100&status=sent', signal)).data

/** Lists those of the last 100 broadcasts whose sending has begun, newest first. */
export const listStartedBroadcasts = async (signal?: AbortSignal) =>
  (await read<Static<typeof BroadcastList>>('/broadcasts?limit=100', signal)).data.filter(
    ({ status }) => status !== 'draft' && status !== 'scheduled',
  )

export const getBroadcast = (id: string, signal?: AbortSignal) => read<Broadcast>(at(id), signal)

export const createBroadcast = (body: Static<typeof CreateBroadcast>) =>
  change<Ref>('POST', '/broadcasts', body)

export const updateBroadcast = (id: string, body: UpdateBroadcast) => change<Ref>('PATCH', at(id), body)

export const deleteBroadcast = (id: string) => change('DELETE', at(id))

/** @param without excludes contacts who opened or clicked the original */
export const duplicateBroadcast = (id: string, without?: Static<typeof DuplicateBroadcast>['without']) =>
  change<Ref>('POST', `${at(id)}/duplicate`, without && { without })

/** Sends the draft to a few addresses. */
export const testBroadcast = (id: string, body: Static<typeof TestBroadcast>) =>
  change('POST', `${at(id)}/test`, body)

export const reviewBroadcast = (id: string, signal?: AbortSignal) =>
  read<BroadcastReview>(`${at(id)}/review`, signal)

/** Counts the contacts that would get a draft. */
export const countEligibleContacts = (id: string, signal?: AbortSignal) =>
  read<Static<typeof BroadcastEligible>>(`${at(id)}/eligible`, signal)

export const listBroadcastVersions = (id: string, signal?: AbortSignal) =>
  read<BroadcastVersionList>(`${at(id)}/versions?limit=100`, signal)

export const getBroadcastVersion = (id: string, version: string, signal?: AbortSignal) =>
  read<BroadcastVersion>(`${at(id)}/versions/${encodeURIComponent(version)}`, signal)

/**
 * @param edits number of edits of the draft that was read; the server refuses the request if the draft has changed
 * since
 */
export const restoreBroadcastVersion = (id: string, version: string, edits: number) =>
  change<Ref>('POST', `${at(id)}/versions/${encodeURIComponent(version)}/restore`, { edits })

/**
 * Sends a broadcast, immediately if no time is given.
 * @param body includes the number of `edits` that was reviewed
 */
export const sendBroadcast = (id: string, body: { scheduled_at?: string; edits?: number }) =>
  change('POST', `${at(id)}/send`, body)

/**
 * Pauses a broadcast. Returns a message for the user, which says how many emails are in flight and will still be sent.
 */
export async function pauseBroadcast(id: string): Promise<string> {
  const { in_flight: count } = await change<Static<typeof BroadcastPaused>>('POST', `${at(id)}/pause`)
  return count === 0 ? 'Broadcast paused.' : `Broadcast paused. ${describeInFlight(count)}`
}

/** @param provider resumes only the part for this provider */
export const resumeBroadcast = (id: string, provider?: string) =>
  change('POST', `${at(id)}/resume`, provider === undefined ? undefined : { provider })

/** Sends a variant of an A/B test to the rest. @param variant its name */
export const chooseVariant = (id: string, variant: string) =>
  change('POST', `${at(id)}/ab-test/winner`, { variant })

export const cancelBroadcast = (id: string) => change('POST', `${at(id)}/cancel`)

/** URL of a CSV file with all recipients. */
export const recipientsExportUrl = (id: string) => `${at(id)}/recipients/export.csv`

export const getResults = (id: string, signal?: AbortSignal) =>
  read<BroadcastResults>(`${at(id)}/results`, signal)

export const listLinks = (id: string, signal?: AbortSignal) =>
  read<Static<typeof ClickedLinkList>>(`${at(id)}/clicked-links?limit=100`, signal)

/**
 * Lists one page of recipients.
 * @param filter empty strings are ignored
 */
export function listRecipients(
  id: string,
  filter: { type: string; email: string; after: string | null; before: string | null },
  signal?: AbortSignal,
) {
  const query = new URLSearchParams({ limit: '50' })
  for (const [name, value] of Object.entries(filter))
    if (value !== null && value !== '') query.set(name, value)
  return read<Static<typeof RecipientList>>(`${at(id)}/recipients?${query}`, signal)
}
