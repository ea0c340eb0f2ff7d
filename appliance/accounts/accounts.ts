/** Teams, their people, and who is signed in to the dashboard. */
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Storage, Team, User } from '../storage/storage.ts'
import { createHasher, type Hasher } from './hasher.ts'
import { judgePassword } from './password.ts'

/**
 * How long a sign-in lasts, in milliseconds: 14 days from the sign-in, used or not. The end is fixed, so that reading a
 * session never writes.
 */
export const SESSION_LIFETIME = 14 * 24 * 3_600_000

export interface Accounts {
  /**
   * Makes the first team and its owner.
   * Refuses: `invalid_field` (email, password, team), `already_set_up` when the appliance has an owner.
   */
  createOwner(args: {
    email: string
    password: string
    teamName: string
  }): Promise<{ user: User; team: Team }>
  /**
   * Begins a session; the token is for the browser's cookie. Undefined for a wrong address or password, which take the same time.
   * Refuses: `too_many_attempts` when too many people sign in at this moment.
   */
  signIn(args: {
    email: string
    password: string
    ip: string | null
    userAgent: string | null
  }): Promise<{ token: string; expiresAt: number } | undefined>
  /** Who holds this token; undefined when the session has ended or never was. */
  resume(token: string): Promise<{ user: User; team: Team; expiresAt: number } | undefined>
  signOut(token: string): Promise<void>
  /** Refuses: `invalid_field` (password). Sessions that exist go on until they end. */
  setPassword(args: { userId: string; password: string }): Promise<void>
  /** The owner with that address and the team; undefined before set-up. */
  findOwner(args: { email: string }): Promise<{ user: User; team: Team } | undefined>
  /** The team, undefined before set-up. */
  firstTeam(): Promise<Team | undefined>
  /** Forgets sessions that have ended; returns how many. For housekeeping. */
  purgeSessions(): Promise<number>
}

/** One way of writing an address that people type in any case. */
const canonical = (email: string): string => email.trim().normalize('NFC').toLowerCase()

const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex')

export function createAccounts({ storage, clock }: { storage: Storage; clock: Clock }): Accounts {
  const hasher = createHasher()
  const acceptable = (password: string, email: string) => {
    const complaint = judgePassword(password, email)
    if (complaint !== null) throw refuse('invalid_field', { field: 'password', expected: complaint })
  }

  return {
    async createOwner({ email: typed, password, teamName }) {
      const email = canonical(typed)
      if (email.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(email))
        throw refuse('invalid_field', { field: 'email', expected: 'an address such as you@example.com' })
      const name = teamName.trim()
      if (name === '' || name.length > 100)
        throw refuse('invalid_field', { field: 'team', expected: 'a name of 1 to 100 characters' })
      if (await storage.firstTeam({}, clock.now())) throw refuse('already_set_up')
      acceptable(password, email)
      const passwordHash = await hasher.hash(password)
      const now = clock.now()
      const team = { id: newId(now), name, createdAt: now }
      const user = { id: newId(now), email, passwordHash, createdAt: now }
      if ((await storage.createOwner({ team, user }, now)) === 'exists') throw refuse('already_set_up')
      return { user, team }
    },

    ...sessions(storage, clock, hasher),

    async setPassword({ userId, password }) {
      acceptable(password, '')
      await storage.setPassword({ userId, passwordHash: await hasher.hash(password) }, clock.now())
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

type SessionMethods = Pick<Accounts, 'signIn' | 'resume' | 'signOut'>

function sessions(storage: Storage, clock: Clock, hasher: Hasher): SessionMethods {
  return {
    async signIn({ email, password, ip, userAgent }) {
      const user = await storage.findUser({ email: canonical(email) }, clock.now())
      const right = await hasher.verify(user?.passwordHash ?? null, password)
      const team = await storage.firstTeam({}, clock.now())
      if (!right || !user || !team) return undefined
      const token = randomBytes(32).toString('base64url')
      const createdAt = clock.now()
      const expiresAt = createdAt + SESSION_LIFETIME
      await storage.createSession(
        {
          tokenHash: hashToken(token),
          teamId: team.id,
          userId: user.id,
          createdAt,
          expiresAt,
          ip,
          userAgent: userAgent?.slice(0, 500) ?? null,
        },
        createdAt,
      )
      return { token, expiresAt }
    },

    async resume(token) {
      if (token.length > 100) return undefined
      const found = await storage.findSession({ tokenHash: hashToken(token) }, clock.now())
      return found && { user: found.user, team: found.team, expiresAt: found.session.expiresAt }
    },

    signOut: (token) => storage.deleteSession({ tokenHash: hashToken(token) }, clock.now()),
  }
}
