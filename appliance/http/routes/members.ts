import type { Member } from '../../storage/storage.ts'
import { presentList } from '../../api/shared.ts'
import { timestamp } from '../../api/timestamp.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { personOf } from '../people.ts'
import { readId } from '../query.ts'
import * as schema from '../schemas/members.ts'

/** Who is in the team. */
export function memberRoutes(app: App, deps: HttpDeps): void {
  const { members } = deps.accounts
  const read = async (request: Parameters<typeof callerOf>[0]) => {
    const id = readId(request.params)
    const all = await members.listMembers({ teamId: callerOf(request).teamId })
    return all.filter(({ userId }) => userId === id).map(presentMember)[0]
  }

  app.get(
    '/members',
    { config: { access: 'people' }, schema: { response: { 200: schema.MemberList } } },
    async (request) =>
      presentList((await members.listMembers({ teamId: callerOf(request).teamId })).map(presentMember)),
  )

  app.patch(
    '/members/:id',
    {
      config: {
        access: 'people',
        right: 'members',
        audit: { action: 'member.update', noun: 'member', read },
      },
      schema: { body: schema.UpdateMember, response: { 200: schema.Member } },
    },
    async (request) => {
      const { teamId, ...by } = personOf(request)
      const { role } = request.body
      return presentMember(await members.setRole({ teamId, userId: readId(request.params), role, by }))
    },
  )

  app.delete(
    '/members/:id',
    {
      config: {
        access: 'people',
        right: 'members',
        audit: { action: 'member.remove', noun: 'member', read },
      },
      schema: { response: { 200: schema.MemberRemoved } },
    },
    async (request) => {
      const { teamId, ...by } = personOf(request)
      const id = readId(request.params)
      await members.removeMember({ teamId, userId: id, by })
      return { object: 'member' as const, id, deleted: true as const }
    },
  )
}

const presentMember = ({ userId, email, role, hasSecondFactor, createdAt }: Member): schema.Member => ({
  object: 'member',
  id: userId,
  email,
  role,
  has_second_factor: hasSecondFactor,
  created_at: timestamp(createdAt),
})
