/** Who runs the appliance: the first team. What belongs to the whole machine is theirs. */
import type { FastifyRequest } from 'fastify'
import { refuse } from '../mail/refusals.ts'
import { callerOf } from './access.ts'
import type { HttpDeps } from './deps.ts'

/** Whether the caller is of the team that runs the appliance. */
export async function isOperator(
  request: FastifyRequest,
  { storage, clock }: Pick<HttpDeps, 'storage' | 'clock'>,
): Promise<boolean> {
  const team = await storage.firstTeam({}, clock.now())
  return team?.id === callerOf(request).teamId
}

/** A step before a request is validated: refuses keys and people of other teams. Keys need full access as everywhere. */
export function requireOperator(deps: Pick<HttpDeps, 'storage' | 'clock'>) {
  return async (request: FastifyRequest): Promise<void> => {
    if (!(await isOperator(request, deps))) throw refuse('not_operator')
  }
}
