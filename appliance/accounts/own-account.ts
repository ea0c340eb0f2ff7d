/** What people do with their own account: another password, a forgotten one, and where they are signed in. */
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import type { FirstProof, Session, Storage, User } from '../storage/storage.ts'
import type { Hasher } from './hasher.ts'
import { canonical } from './sign-in.ts'
import { hashToken, isToken, newToken } from './tokens.ts'

/** How long a link that sets a new password is good, in milliseconds: a mail that waits for a greylist is in time. */
export const RESET_LIFETIME = 30 * 60_000

/** A link that sets a new password; the token is told once. */
export interface ResetLink {
  user: User
  token: string
  /** Unix milliseconds. */
  expiresAt: number
}

/** A place where somebody is signed in. */
export interface OwnSession extends Omit<Session, 'tokenHash'> {
  /** The one that asks. */
  current: boolean
}

export interface OwnAccount {
  /**
   * Sets another password; of all sessions of the person only the one that asks goes on.
   * Refuses: `wrong_password`, `no_password` when there is none to know, `invalid_field` (new), `too_many_attempts`.
   * @param token of the session that asks
   */
  changePassword(args: { userId: string; current: string; password: string; token: string }): Promise<User>
  /**
   * Makes a link that sets a new password; undefined when nobody has that address. Earlier links stay good: a stranger
   * who asks again and again takes none away.
   * @param args.byMail it is sent to that address and shown to nobody: whoever uses it has shown that the address is theirs
   */
  beginReset(args: { email: string; byMail: boolean }): Promise<ResetLink | undefined>
  /**
   * Sets the password that a link was made for. All sessions end, second factors stay. What the first proof of the address ended is in
   * `firstProof`, see `setPassword` (storage/accounts.ts).
   * Refuses: `reset_link_over` for a link that was used, has expired or never was, `invalid_field` (password): then it stays good.
   */
  finishReset(args: { token: string; password: string }): Promise<{
    user: User
    teamId: string | null
    firstProof: FirstProof | null
  }>
  /** Where the person is signed in, the place used last first. */
  listSessions(args: { userId: string; token: string }): Promise<OwnSession[]>
  /** Ends one of the person's sessions; false when there is no such one. */
  endSession(args: { userId: string; id: string }): Promise<boolean>
  /** Ends all of the person's sessions but the one that asks; returns how many. */
  endOtherSessions(args: { userId: string; token: string }): Promise<number>
  /** Another token for the same session: the one before opens nothing any more. Undefined when the session has ended. */
  renewToken(args: { token: string }): Promise<string | undefined>
}

/** What it is made of. */
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
  /** Refuses passwords that will not do; `field` is what the caller named it. */
  acceptable: (password: string, field: string, ...names: string[]) => void
}

/** Makes the methods. */
export function ownAccount(deps: OwnAccountDeps): OwnAccount {
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

/** What a ticket of kind `reset` keeps; null in those of before. */
interface LinkData {
  byMail: boolean
}

type PasswordMethods = Pick<OwnAccount, 'changePassword' | 'beginReset' | 'finishReset'>

function passwords({ storage, clock, hasher, acceptable }: OwnAccountDeps): PasswordMethods {
  /** Judges and hashes a password; `commit` sets it. */
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
        ...{ field: 'new', keep: hashToken(token), byMail: false, was: user.passwordHash },
      })
      await commit()
      return user
    },

    async beginReset({ email, byMail }) {
      const now = clock.now()
      const user = await storage.findUser({ email: canonical(email) }, now)
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
      // Of two who use it at once, one sets the password.
      if (!(await storage.takeTicket(ticket, clock.now()))) throw refuse('reset_link_over')
      return { user, teamId, firstProof: await commit() }
    },
  }
}
