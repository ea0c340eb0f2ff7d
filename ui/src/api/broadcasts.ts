/** Calls about broadcasts. */
import type { Static } from 'typebox'
import type {
  Broadcast,
  BroadcastList,
  BroadcastRef,
  BroadcastSummary,
  CreateBroadcast,
  UpdateBroadcast,
} from '../../../appliance/api/broadcasts.ts'
import { change, read } from './client.ts'

export type { Broadcast, BroadcastSummary }
type Ref = Static<typeof BroadcastRef>

const at = (id: string) => `/broadcasts/${encodeURIComponent(id)}`

/** A page of the broadcasts. @param filter empty texts: no condition */
export function listBroadcasts(
  filter: { text: string; status: string; after: string | null; before: string | null },
  signal?: AbortSignal,
) {
  const query = new URLSearchParams({ limit: '50' })
  for (const [name, value] of Object.entries(filter))
    if (value !== null && value !== '') query.set(name, value)
  return read<Static<typeof BroadcastList>>(`/broadcasts?${query}`, signal)
}

export const getBroadcast = (id: string, signal?: AbortSignal) => read<Broadcast>(at(id), signal)

export const createBroadcast = (body: Static<typeof CreateBroadcast>) =>
  change<Ref>('POST', '/broadcasts', body)

export const updateBroadcast = (id: string, body: UpdateBroadcast) => change<Ref>('PATCH', at(id), body)

export const deleteBroadcast = (id: string) => change('DELETE', at(id))

export const duplicateBroadcast = (id: string) => change<Ref>('POST', `${at(id)}/duplicate`)
