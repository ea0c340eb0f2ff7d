/** Teams, their members, and dashboard sessions. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Storage, Team, User } from '../storage/storage.ts'
import { loadBreachedPasswords } from './breached.ts'
import { createSecondFactors, type SecondFactors } from './factors.ts'
import { createHasher } from './hasher.ts'
import { createOwnAccount, type OwnAccount } from './own-account.ts'
import { createMembers, type Members } from './members.ts'
import { checkPassword } from './password.ts'
import { normalizeEmail, createSignIns, type SignIns } from './sign-in.ts'
import { createTeams, parseTeamName as readTeamName, type Teams } from './teams.ts'
import type { SecondSteps } from './second-step.ts'
import { hashToken } from './tokens.ts'

export { SESSION_LIFETIME, type SignedInUser, type SignInResult, type SignIns } from './sign-in.ts'
export { RESET_LIFETIME, type OwnAccount, type UserSession } from './own-account.ts'
export { recordAuditEntry } from './audit.ts'
export { OPERATOR, parseRole } from './members.ts'
export type { UserSecondFactors } from './factors.ts'
export { createRelyingParty, type PasskeyAssertion, type RelyingParty } from './passkeys.ts'
export { PROOF_LIFETIME, type Credential } from './second-step.ts'
export { hashToken } from './tokens.ts'
export type { ProviderSettings } from './provider.ts'
export { createProviderSignIns, type ProviderSignIns, type ProviderSignInResult } from './provider-sign-in.ts'
export { createSetup, SETUP_LIFETIME, type Setup } from './set-up.ts'

export interface Accounts extends SignIns, OwnAccount {
  /** Second factors, and the second step of a sign-in. */
  factors: SecondFactors & SecondSteps
  /**
   * Creates the first team and its owner.
   * Refuses: `invalid_field` (email, password, team), `already_set_up` when there already is an owner.
   */
  createOwner(args: {
    email: string
    password: string
    teamName: string
  }): Promise<{ user: User; team: Team }>
  /**
   * Sets a password and ends all sessions of the user except the one that requested it, so anyone who signed in with
   * the old password is signed out. Refuses: `invalid_field` (password).
   * @param keep the token of that session; undefined to end all
   */
  setPassword(args: { userId: string; password: string; keep?: string | undefined }): Promise<void>
  /** Finds the owner with that address and their team; undefined before setup. */
  findOwner(args: { email: string }): Promise<{ user: User; team: Team } | undefined>
  readonly members: Members
  readonly teams: Teams
  /** Returns the first team; undefined before setup. */
  firstTeam(): Promise<Team | undefined>
  /** Deletes expired sessions; returns how many. For housekeeping. */
  purgeSessions(): Promise<number>
}

/** Dependencies of the accounts. */
export interface AccountsDeps {
  storage: Storage
  clock: Clock
  /** This server's host name, which is not accepted as a password. */
  hostname?: string | undefined
  /** Divides a limit that each node counts separately by the number of live nodes. Default: there is only one. */
  shareOf?: ((limit: number) => number) | undefined
}

export function createAccounts({ storage, clock, hostname = '', shareOf }: AccountsDeps): Accounts {
  const hasher = createHasher()
  const signIns = createSignIns({ storage, clock, hasher })
  const breached = loadBreachedPasswords()
  const acceptable = (password: string, field: string, ...names: string[]) => {
    const complaint = checkPassword(password, [hostname, ...names], breached)
    if (complaint !== null) throw refuse('invalid_field', { field, expected: complaint })
  }

  return {
    async createOwner({ email: typed, password, teamName }) {
      const email = normalizeEmail(typed)
      if (email.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(email))
        throw refuse('invalid_field', { field: 'email', expected: 'an address such as you@example.com' })
      const name = readTeamName(teamName, 'team')
      if (await storage.firstTeam({}, clock.now())) throw refuse('already_set_up')
      acceptable(password, 'password', email, name)
      const passwordHash = await hasher.hash(password)
      const now = clock.now()
      const team = { id: newId(now), name, createdAt: now }
      // The owner's address counts as verified, because the person who runs the server entered it.
      const user = { id: newId(now), email, passwordHash, createdAt: now, provenAt: now }
      if ((await storage.createOwner({ team, user, onlyFirst: true }, now)) === 'exists')
        throw refuse('already_set_up')
      return { user, team }
    },

    ...signIns,

    factors: createSecondFactors({ storage, clock, hasher, signIns, shareOf }),

    ...createOwnAccount({ storage, clock, hasher, acceptable }),

    members: createMembers({ storage, clock, hasher, acceptable }),

    teams: createTeams({ storage, clock }),

    async setPassword({ userId, password, keep }) {
      const user = await storage.getUser({ id: userId }, clock.now())
      acceptable(password, 'password', user?.email ?? '')
      const passwordHash = await hasher.hash(password)
      const kept = keep === undefined ? null : hashToken(keep)
      await storage.setPassword({ userId, passwordHash, keep: kept }, clock.now())
    },

    async findOwner({ email }) {
      const now = clock.now()
      const [user, team] = await Promise.all([
        storage.findUser({ email: normalizeEmail(email) }, now),
        storage.firstTeam({}, now),
      ])
      return user && team && { user, team }
    },

    firstTeam: () => storage.firstTeam({}, clock.now()),

    purgeSessions: () => storage.purgeSessions({}, clock.now()),
  }
}
