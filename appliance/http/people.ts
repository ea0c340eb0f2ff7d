/** The person who asks, on routes that are for people only. */
import type { FastifyRequest } from 'fastify'
import { refuse } from '../mail/refusals.ts'
import type { Role } from '../mail/roles.ts'
import { callerOf } from './access.ts'

/** A caller who is a person. */
export interface Person {
  teamId: string
  userId: string
  email: string
  role: Role
}

/** Refuses: `not_signed_in`. */
export function personOf(request: FastifyRequest): Person {
  const { teamId, userId, user, role } = callerOf(request)
  if (userId === undefined || user === undefined || role === undefined) throw refuse('not_signed_in')
  return { teamId, userId, email: user, role }
}
