/** Lets people manage their own account: change or reset the password, and manage sessions. */
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import type { RevokedSignInMethods, Session, Storage, User } from '../storage/storage.ts'
import type { Hasher } from './hasher.ts'
import { normalizeEmail } from './sign-in.ts'
import { hashToken, isToken, newToken } from './tokens.ts'

/** How long a password reset link is valid, in milliseconds: long enough for a mail delayed by greylisting. */
export const RESET_LIFETIME = 30 * 60_000

/** A password reset link; the token is returned only once. */
export interface ResetLink {
  user: User
  token: string
  /** Unix milliseconds. */
  expiresAt: number
}

/** A session of the person. */
export interface UserSession extends Omit<Session, 'tokenHash'> {
  /** Whether this is the requesting session. */
  current: boolean
}

export interface OwnAccount {
  /**
   * Changes the password and ends the person's other sessions.
   * Refuses: `wrong_password`, `no_password` (the account has no password), `invalid_field` (new), `too_many_attempts`.
   * @param token of the requesting session
   */
  changePassword(args: { userId: string; current: string; password: string; token: string }): Promise<User>
  /**
   * Creates a password reset link; undefined when no account has that address. Earlier links stay valid, so that a
   * stranger's requests don't invalidate them.
   * @param args.byMail whether the link is only sent to that address, so that its use proves that the person owns the
   * address
   */
  beginReset(args: { email: string; byMail: boolean }): Promise<ResetLink | undefined>
  /**
   * Sets a password with a reset link. Ends all sessions and keeps second factors. `firstProof` has the numbers of
   * sign-in methods that the first proof of the address revoked, see `setPassword` (storage/accounts.ts).
   * Refuses: `reset_link_over` when the link was used, has expired or never existed; `invalid_field` (password), which
   * keeps the link valid.
   */
  finishReset(args: { token: string; password: string }): Promise<{
    user: User
    teamId: string | null
    firstProof: RevokedSignInMethods | null
  }>
  /** Lists the person's sessions, the last used first. */
  listSessions(args: { userId: string; token: string }): Promise<UserSession[]>
  /** Ends one of the person's sessions; false when it doesn't exist. */
  endSession(args: { userId: string; id: string }): Promise<boolean>
  /** Ends all of the person's sessions except the requesting one; returns how many. */
  endOtherSessions(args: { userId: string; token: string }): Promise<number>
  /** Replaces a session's token; the old one becomes invalid. Undefined when the session has ended. */
  renewToken(args: { token: string }): Promise<string | undefined>
}

/** Dependencies. */
export interface OwnAccountDeps {
  storage: Pick<
    Storage,
    | 'findUser'
    | 'getUser'
    | 'teamToEnter'
    | 'setPassword'
    | 'createTicket'
    | 'peekTicket'
    | 'takeTicket'
    | 'listSessions'
    | 'endSession'
    | 'endSessions'
    | 'renewSession'
  >
  clock: Clock
  hasher: Hasher
  /** Refuses unacceptable passwords; `field` is the name of the caller's field. */
  acceptable: (password: string, field: string, ...names: string[]) => void
}

/** Creates the methods. */
export function createOwnAccount(deps: OwnAccountDeps): OwnAccount {
  const { storage, clock } = deps
  return {
    ...passwords(deps),

    async listSessions({ userId, token }) {
      const found = await storage.listSessions({ userId }, clock.now())
      const own = hashToken(token)
      return found.map(({ tokenHash, ...session }) => ({ ...session, current: tokenHash === own }))
    },

    endSession: ({ userId, id }) => storage.endSession({ userId, id }, clock.now()),

    endOtherSessions: ({ userId, token }) =>
      storage.endSessions({ userId, keep: hashToken(token) }, clock.now()),

    async renewToken({ token }) {
      const next = newToken()
      const renewed = { tokenHash: hashToken(token), renewed: hashToken(next) }
      return (await storage.renewSession(renewed, clock.now())) ? next : undefined
    },
  }
}

/** The data of a `reset` ticket; null in tickets of older versions. */
interface LinkData {
  byMail: boolean
}

type PasswordMethods = Pick<OwnAccount, 'changePassword' | 'beginReset' | 'finishReset'>

function passwords({ storage, clock, hasher, acceptable }: OwnAccountDeps): PasswordMethods {
  /** Validates and hashes a password; `commit` sets it. */
  const prepare = async (
    user: User,
    password: string,
    { field, ...how }: { field: string; keep: string | null; byMail: boolean; was?: string },
  ) => {
    const team = await storage.teamToEnter({ userId: user.id }, clock.now())
    acceptable(password, field, user.email, team?.name ?? '')
    const passwordHash = await hasher.hash(password)
    const commit = async () => {
      const done = await storage.setPassword({ userId: user.id, passwordHash, ...how }, clock.now())
      if (done === 'stale') throw refuse('wrong_password', { field: 'current' })
      return done
    }
    return { teamId: team?.id ?? null, commit }
  }

  return {
    async changePassword({ userId, current, password, token }) {
      const user = await storage.getUser({ id: userId }, clock.now())
      if (!user) throw refuse('not_signed_in')
      if (user.passwordHash === null) throw refuse('no_password')
      if (!(await hasher.verify(user.passwordHash, current)))
        throw refuse('wrong_password', { field: 'current' })
      const { commit } = await prepare(user, password, {
        field: 'new',
        keep: hashToken(token),
        byMail: false,
        was: user.passwordHash,
      })
      await commit()
      return user
    },

    async beginReset({ email, byMail }) {
      const now = clock.now()
      const user = await storage.findUser({ email: normalizeEmail(email) }, now)
      if (!user) return undefined
      const token = newToken()
      const expiresAt = now + RESET_LIFETIME
      const data: LinkData = { byMail }
      const kept = { tokenHash: hashToken(token), kind: 'reset', userId: user.id, data } as const
      await storage.createTicket({ ...kept, createdAt: now, expiresAt }, now)
      return { user, token, expiresAt }
    },

    async finishReset({ token, password }) {
      if (!isToken(token)) throw refuse('reset_link_over')
      const ticket = { tokenHash: hashToken(token), kind: 'reset' as const }
      const found = await storage.peekTicket(ticket, clock.now())
      const user = found?.userId && (await storage.getUser({ id: found.userId }, clock.now()))
      if (!user) throw refuse('reset_link_over')
      const byMail = (found.data as LinkData | null)?.byMail === true
      const { teamId, commit } = await prepare(user, password, { field: 'password', keep: null, byMail })
      // When the link is used twice at the same time, only one use succeeds.
      if (!(await storage.takeTicket(ticket, clock.now()))) throw refuse('reset_link_over')
      return { user, teamId, firstProof: await commit() }
    },
  }
}
