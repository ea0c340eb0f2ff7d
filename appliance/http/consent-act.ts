/** Who changes subscriptions over the API, for the consent log. */
import type { FastifyRequest } from 'fastify'
import type { ConsentAct } from '../mail/audience.ts'
import { callerOf } from './access.ts'

/**
 * An app or a member of the team. Their IPs are not the contact's, so they are left out.
 * @param lifts whether the request may lift an opt-out: only an explicit change of one contact
 */
export function consentAct(request: FastifyRequest, lifts: boolean): ConsentAct {
  const { apiKey, userId = null } = callerOf(request)
  const about = { ip: null, userAgent: null, wording: null, lifts }
  return apiKey
    ? { origin: 'api', via: 'api', source: apiKey.id, ...about }
    : { origin: 'operator', via: 'dashboard', source: userId, ...about }
}

/** Apps change contacts all the time: the audit log has what people did, the request log has the rest. */
export const byApp = ({ caller }: FastifyRequest): boolean => caller?.apiKey !== null
