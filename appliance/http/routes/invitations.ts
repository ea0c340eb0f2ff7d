import * as api from '../../api/members.ts'
import { serve } from '../serve.ts'
import { recordAuditEntry } from '../../accounts/accounts.ts'
import { Refusal } from '../../mail/refusals.ts'
import type { Invitation } from '../../storage/storage.ts'
import { presentDeleted, presentList } from '../../api/shared.ts'
import { timestamp } from '../../api/timestamp.ts'
import { getCaller, requirePerson } from '../access.ts'
import { readInvitation } from '../audit-reads.ts'
import { SESSION_COOKIE, readCookie } from '../cookies.ts'
import type { App, HttpDeps } from '../deps.ts'
import { createInvitationNotice as letter } from '../account-mail.ts'
import { createNodeThrottle, limitAttempts } from '../own-account.ts'
import {
  limitUnauthenticated,
  getBrowser,
  setSignInCookie,
  presentSignInStep,
  MAX_UNAUTHENTICATED_BODY,
} from '../sign-in.ts'
import type { SignInThrottle } from '../sign-in-throttle.ts'
import { presentSession } from './session.ts'

const MINUTE = 60_000
/** Maximum number of requests with links per minute from one network. A page makes two requests. */
const MOST_TRIES = 20

/** Maximum number of invitations per 15 minutes to one address, so that no mailbox is flooded. */
const MOST_MAILS = 3
const MAILS_WINDOW = 15 * MINUTE
/**
 * Maximum number of invitations per day by one team, enough for a large team at the start. Revoked invitations count,
 * too, because they were mailed.
 */
const MOST_A_DAY = 300
const DAY = 24 * 60 * MINUTE

/** Routes to invite people and to accept invitations. `signIns`: limits password guesses. */
export function invitationRoutes(
  app: App,
  deps: HttpDeps,
  { origin, signIns }: { origin: () => string; signIns: SignInThrottle },
): void {
  invitingRoutes(app, deps, { origin })
  acceptingRoutes(app, deps, signIns)
  joiningRoute(app, deps)
}

function invitingRoutes(app: App, deps: HttpDeps, { origin }: { origin: () => string }): void {
  const { sendNotice, config } = deps
  const { members } = deps.accounts
  const mails = createNodeThrottle(deps, MOST_MAILS, MAILS_WINDOW)
  const daily = createNodeThrottle(deps, MOST_A_DAY, DAY)
  const inviting = { right: 'members' } as const

  serve(app, api.listInvitations, inviting, async (request) => {
    const { teamId } = getCaller(request)
    return presentList((await members.listInvitations({ teamId })).map(api.presentInvitation))
  })

  serve(app, api.createInvitation, { ...inviting, audit: 'invitation.create' }, async (request, reply) => {
    const { teamId, email: inviter, ...by } = requirePerson(request)
    limitAttempts(reply, mails, request.body.email.trim().toLowerCase())
    limitAttempts(reply, daily, teamId)
    const { invitation, token, mailed } = await members.invite({ teamId, ...request.body, by })
    const link = invitationLink(origin(), token)
    // The mailed link differs from the link that the inviting person sees, because its use proves access to the
    // mailbox.
    const inMail = { link: invitationLink(origin(), mailed), inviter, hostname: config.hostname }
    const result = await sendNotice(letter(invitation, inMail))
    const { sent } = result
    const why = result.sent ? null : result.reason
    const created = { ...api.presentInvitation(invitation), link, sent, not_sent_because: why }
    return created
  })

  const revoked = { ...inviting, audit: { action: 'invitation.revoke', read: readInvitation(deps) } } as const
  serve(app, api.revokeInvitation, revoked, async (request) => {
    const { teamId, ...by } = requirePerson(request)
    const id = request.params.id
    await members.revokeInvitation({ teamId, id, by })
    return presentDeleted('invitation', id)
  })
}

/**
 * Returns the URL of the page where an invitation is accepted. The token follows `#`, so that it appears in no log and
 * no Referer header.
 */
const invitationLink = (origin: string, token: string): string => `${origin}/dashboard/invitation#${token}`

/** Routes to accept an invitation without being signed in. */
function acceptingRoutes(app: App, deps: HttpDeps, signIns: SignInThrottle): void {
  const { accounts } = deps
  const throttle = createNodeThrottle(deps, MOST_TRIES, MINUTE)
  const publicly = { secretBody: true, audit: null } as const

  const viewed = { ...publicly, bodyLimit: MAX_UNAUTHENTICATED_BODY } as const
  serve(app, api.lookAtInvitation, viewed, async (request, reply) => {
    limitUnauthenticated(request, reply, throttle)
    const { invitation, hasAccount, hasTeam } = await accounts.members.viewInvitation(request.body)
    const { email, role, teamName, expiresAt } = invitation
    const known = { has_account: hasAccount, has_team: hasTeam }
    const about = { email, role, team: { name: teamName }, ...known }
    return { object: 'invitation' as const, ...about, expires_at: timestamp(expiresAt) }
  })

  const accepted = { ...publicly, bodyLimit: MAX_UNAUTHENTICATED_BODY } as const
  serve(app, api.acceptInvitation, accepted, async (request, reply) => {
    limitUnauthenticated(request, reply, throttle)
    const { invitation: open, ...known } = await accounts.members.viewInvitation(request.body)
    const attempt = () => signIns.attempt({ ip: request.ip, email: open.email, device: undefined })
    if (known.hasAccount && !known.hasTeam) limitUnauthenticated(request, reply, { attempt })
    const { user, invitation } = await accounts.members
      .acceptByPassword(request.body)
      .catch(async (error) => {
        if (isWrongPassword(error)) await noteRefused(deps, open, request.ip)
        throw error
      })
    await noteJoined(deps, invitation, { email: user.email, ip: request.ip })
    const { teamId } = invitation
    const entering = { userId: user.id, method: 'password', strong: false, teamId } as const
    const result = await accounts.enter({ ...entering, ...getBrowser(request) })
    setSignInCookie(request, reply, result)
    if (result.kind === 'second_factor') return reply.code(202).send(presentSignInStep(result.methods))
    return presentSession(result.token, deps)
  })
}

function joiningRoute(app: App, deps: HttpDeps): void {
  const { accounts } = deps
  const joined = {
    right: 'none',
    secretBody: true,
    audit: null,
    bodyLimit: MAX_UNAUTHENTICATED_BODY,
  } as const
  serve(app, api.joinTeam, joined, async (request) => {
    const { userId, email } = requirePerson(request)
    const { token } = request.body
    const invitation = await accounts.members.acceptAsUser({ token, user: { id: userId, email } })
    await noteJoined(deps, invitation, { email, ip: request.ip })
    const session = readCookie(request, SESSION_COOKIE) ?? ''
    await accounts.teams.switchTeam({ token: session, teamId: invitation.teamId })
    return presentSession(session, deps)
  })
}

/** Records the new member. Not recorded by the route itself, because a public route has no authenticated caller. */
async function noteJoined(
  { storage, clock }: HttpDeps,
  { id, teamId, role }: Invitation,
  { email, ip }: { email: string; ip: string },
): Promise<void> {
  const actor = { kind: 'user', name: email, ip } as const
  const act = { action: 'invitation.accept', target: `invitation ${id}`, after: { role } } as const
  await recordAuditEntry(storage, clock, { teamId, actor, ...act })
}

const isWrongPassword = (error: unknown): boolean =>
  error instanceof Refusal && error.key === 'wrong_password'

/** Records a wrong password for the invited account. */
async function noteRefused({ storage, clock }: HttpDeps, { id, teamId, email }: Invitation, ip: string) {
  const actor = { kind: 'user', name: email, ip } as const
  const act = {
    action: 'invitation.accept',
    target: `invitation ${id}`,
    after: { refused: 'wrong_password' },
  } as const
  await recordAuditEntry(storage, clock, { teamId, actor, ...act })
}
