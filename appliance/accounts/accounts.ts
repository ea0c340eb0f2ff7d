/** Teams, their members, and dashboard sessions. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Storage, Team, User } from '../storage/storage.ts'
import { loadBreached } from './breached.ts'
import { createFactors, type Factors } from './factors.ts'
import { createHasher } from './hasher.ts'
import { ownAccount, type OwnAccount } from './own-account.ts'
import { createMembers, type Members } from './members.ts'
import { judgePassword } from './password.ts'
import { canonical, createSignIns, type SignIns } from './sign-in.ts'
import { createTeams, teamName as readTeamName, type Teams } from './teams.ts'
import type { SecondSteps } from './second-step.ts'
import { hashToken } from './tokens.ts'

export { SESSION_LIFETIME, type SignedIn, type SignInResult, type SignIns } from './sign-in.ts'
export { RESET_LIFETIME, type OwnAccount, type OwnSession } from './own-account.ts'
export { recordAct } from './audit.ts'
export { OPERATOR, roleNamed } from './members.ts'
export type { OwnFactors } from './factors.ts'
export { relyingParty, type PasskeyAnswer, type RelyingParty } from './passkeys.ts'
export { PROOF_LIFETIME, type Answer } from './second-step.ts'
export { hashToken } from './tokens.ts'
export type { ProviderSettings } from './provider.ts'
export { createProviderSignIns, type ProviderSignIns, type Returned } from './provider-sign-in.ts'
export { createSetUp, SET_UP_LIFETIME, type SetUp } from './set-up.ts'

export interface Accounts extends SignIns, OwnAccount {
  /** Second factors, and the second step of a sign-in. */
  factors: Factors & SecondSteps
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
  /** This server's name, which must not be a password. */
  hostname?: string | undefined
}

export function createAccounts({ storage, clock, hostname = '' }: AccountsDeps): Accounts {
  const hasher = createHasher()
  const signIns = createSignIns({ storage, clock, hasher })
  const breached = loadBreached()
  const acceptable = (password: string, field: string, ...names: string[]) => {
    const complaint = judgePassword(password, [hostname, ...names], breached)
    if (complaint !== null) throw refuse('invalid_field', { field, expected: complaint })
  }

  return {
    async createOwner({ email: typed, password, teamName }) {
      const email = canonical(typed)
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

    factors: createFactors({ storage, clock, hasher, signIns }),

    ...ownAccount({ storage, clock, hasher, acceptable }),

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
        storage.findUser({ email: canonical(email) }, now),
        storage.firstTeam({}, now),
      ])
      return user && team && { user, team }
    },

    firstTeam: () => storage.firstTeam({}, clock.now()),

    purgeSessions: () => storage.purgeSessions({}, clock.now()),
  }
}
