import { randomBytes } from 'node:crypto'
import { newId } from '../../../appliance/mail/ids.ts'
import type { Role } from '../../../appliance/mail/roles.ts'
import { hashToken } from '../../../appliance/accounts/accounts.ts'
import type { Api } from './harness.ts'

let serial = 0

/** Creates a member of a team, by default of `api`'s, and signs in. Returns the `cookie` header. */
export async function join(
  { storage, accounts, clock, teamId }: Api,
  {
    role,
    team = teamId,
    email = `person-${++serial}@people.example`,
  }: { role: Role; team?: string; email?: string },
): Promise<string> {
  const now = clock.now()
  const user = { id: newId(now), email, passwordHash: null, provenAt: null, createdAt: now }
  const tokenHash = hashToken(randomBytes(32).toString('base64url'))
  const about = { teamId: team, email, role, invitedBy: null, tokenHash, mailedHash: null }
  const invitation = { ...about, id: newId(now), createdAt: now, expiresAt: now + 1000 }
  await storage.invite({ invitation, most: 1000 }, now)
  await storage.acceptInvitation({ id: invitation.id, who: { user } }, now)
  const result = await accounts.enter({
    userId: user.id,
    method: 'password',
    strong: false,
    teamId: team,
    ip: null,
    userAgent: null,
  } as const)
  if (result.kind !== 'session') throw new Error('a person without factors was asked for one')
  return `posthaste_session=${result.token}`
}
