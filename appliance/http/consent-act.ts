/** Describes who changes subscriptions through the API, for the consent log. */
import type { FastifyRequest } from 'fastify'
import type { ConsentAct } from '../mail/audience.ts'
import { callerOf } from './access.ts'

/**
 * Returns the act of an app or a team member. Omits the IP, which isn't the contact's.
 * @param lifts whether the request may undo an opt-out: only an explicit change of one contact
 */
export function consentAct(request: FastifyRequest, lifts: boolean): ConsentAct {
  const { apiKey, userId = null } = callerOf(request)
  const about = { ip: null, userAgent: null, wording: null, lifts }
  return apiKey
    ? { origin: 'api', via: 'api', source: apiKey.id, ...about }
    : { origin: 'operator', via: 'dashboard', source: userId, ...about }
}

/**
 * Whether an app made the request. Apps change contacts all the time, so the audit log only has what people did; the
 * request log has the rest.
 */
export const byApp = ({ caller }: FastifyRequest): boolean => caller?.apiKey !== null
