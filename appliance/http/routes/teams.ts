import * as api from '../../api/teams.ts'
import { serve } from '../serve.ts'
import type { FastifyRequest } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import { presentDeleted, presentList } from '../../api/shared.ts'
import { getCaller, requirePerson } from '../access.ts'
import { readOwnRole, readTeam } from '../audit-reads.ts'
import { SESSION_COOKIE, readCookie } from '../cookies.ts'
import { createOperatorOptions } from '../audited.ts'
import type { App, HttpDeps } from '../deps.ts'
import { parseId } from '../../api/parameters.ts'
import { presentSession } from './session.ts'

/** Routes for the current team, its rules, and the person's other teams. */
export function teamsRoutes(app: App, deps: HttpDeps): void {
  oneTeamRoutes(app, deps)
  ownTeamsRoutes(app, deps)
}

function oneTeamRoutes(app: App, deps: HttpDeps): void {
  const { teams } = deps.accounts

  serve(app, api.getTeam, {}, async (request) =>
    api.presentTeam(await teams.getTeam({ id: getCaller(request).teamId })),
  )

  const renamed = { right: 'team', audit: { action: 'team.rename', read: readTeam(deps) } } as const
  serve(app, api.renameTeam, renamed, async (request) => {
    const { teamId } = getCaller(request)
    return api.presentTeam(await teams.renameTeam({ id: teamId, name: request.body.name }))
  })

  const changed = { right: 'security', audit: { action: 'team.security', read: readTeam(deps) } } as const
  serve(app, api.setTeamSecurity, changed, async (request) => {
    const { teamId, userId } = requirePerson(request)
    const required = request.body.mfa_required
    return api.presentTeam(await teams.requireMfa({ id: teamId, required, userId }))
  })
}

const leaving = { action: 'team.leave' } as const

/** Runs before the audit entry is created, so that no one can write to another team's log. */
const requireOwnTeam = (deps: HttpDeps) => async (request: FastifyRequest) => {
  const own = await deps.accounts.teams.teamsOf({ userId: requirePerson(request).userId })
  if (!own.some(({ id }) => id === (request.params as { id: string }).id))
    throw refuse('not_found', { resource: 'Team' })
}

function ownTeamsRoutes(app: App, deps: HttpDeps): void {
  const { members, teams } = deps.accounts

  serve(app, api.listTeams, { right: 'none' }, async (request) => {
    const own = await teams.teamsOf({ userId: requirePerson(request).userId })
    return presentList(own.map(api.presentOwnTeam))
  })

  serve(app, api.createTeam, createOperatorOptions(deps, 'team.create'), async (request) => {
    const { userId } = requirePerson(request)
    const team = await teams.createTeam({ name: request.body.name, ownerId: userId })
    return api.presentOwnTeam({ ...team, role: 'owner' })
  })

  serve(app, api.switchTeam, { right: 'none', audit: null }, async (request) => {
    const token = readCookie(request, SESSION_COOKIE) ?? ''
    await teams.switchTeam({ token, teamId: parseId(request.body.team_id, 'id') })
    return presentSession(token, deps)
  })

  serve(
    app,
    api.leaveTeam,
    {
      right: 'none',
      audit: { ...leaving, team: ({ params }) => (params as { id: string }).id, read: readOwnRole(deps) },
      preHandler: requireOwnTeam(deps),
    },
    async (request) => {
      const { userId } = requirePerson(request)
      const teamId = request.params.id
      await members.leave({ teamId, userId })
      return presentDeleted('member', userId)
    },
  )
}
