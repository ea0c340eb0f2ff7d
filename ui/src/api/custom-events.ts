/** API calls for custom events. */
import type { Static } from 'typebox'
import type {
  CreateEvent,
  EventList,
  EventRef,
  EventSummary,
  SendEvent,
  SentEventList,
  UpdateEvent,
} from '../../../appliance/api/custom-events.ts'
import type { Cursor } from './calls.ts'
import { change, read, addQueryString } from './client.ts'

const at = (id: string) => `/events/${encodeURIComponent(id)}`

/** Lists one page of the defined custom events. */
export const listEvents = ({ after, before }: Cursor, signal?: AbortSignal) =>
  read<Static<typeof EventList>>(addQueryString('/events', { after, before, limit: 50 }), signal)

export const getEvent = (id: string, signal?: AbortSignal) => read<EventSummary>(at(id), signal)

export const createEvent = (body: Static<typeof CreateEvent>) =>
  change<Static<typeof EventRef>>('POST', '/events', body)

export const updateEvent = (id: string, body: Static<typeof UpdateEvent>) => change('PATCH', at(id), body)

export const deleteEvent = (id: string) => change('DELETE', at(id))

export const sendEvent = (body: Static<typeof SendEvent>) => change('POST', '/events/send', body)

/** Lists one page of the events with one name that were sent in the last 30 days, newest first. */
export const listSentEvents = (id: string, { after, before }: Cursor, signal?: AbortSignal) =>
  read<Static<typeof SentEventList>>(addQueryString(`${at(id)}/sent`, { after, before, limit: 50 }), signal)
