import * as api from '../../api/members.ts'
import { serve } from '../serve.ts'
import type { FastifyRequest } from 'fastify'
import { presentDeleted, presentList } from '../../api/shared.ts'
import { getCaller, requirePerson } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

/** Routes for the members of a team. */
export function memberRoutes(app: App, deps: HttpDeps): void {
  const { members } = deps.accounts
  const read = async (request: FastifyRequest) => {
    const { id } = request.params as { id: string }
    const all = await members.listMembers({ teamId: getCaller(request).teamId })
    return all.filter(({ userId }) => userId === id).map(api.presentMember)[0]
  }

  serve(app, api.listMembers, {}, async (request) =>
    presentList((await members.listMembers({ teamId: getCaller(request).teamId })).map(api.presentMember)),
  )

  const updated = { right: 'members', audit: { action: 'member.update', read } } as const
  serve(app, api.updateMember, updated, async (request) => {
    const { teamId, ...by } = requirePerson(request)
    const { role } = request.body
    return api.presentMember(await members.setRole({ teamId, userId: request.params.id, role, by }))
  })

  const removed = { right: 'members', audit: { action: 'member.remove', read } } as const
  serve(app, api.removeMember, removed, async (request) => {
    const { teamId, ...by } = requirePerson(request)
    const { id } = request.params as { id: string }
    await members.removeMember({ teamId, userId: id, by })
    return presentDeleted('member', id)
  })
}
