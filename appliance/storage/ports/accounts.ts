/** Teams, their people, and who is signed in. */
import type { Role } from '../../mail/roles.ts'

export interface Team {
  id: string
  name: string
  createdAt: number
}

export interface User {
  id: string
  email: string
  /** argon2id in PHC string form; null: enters by an identity provider or a passkey only. */
  passwordHash: string | null
  createdAt: number
  /**
   * Since when the address is known to be that of the one who has the account: by a link that only a mail held, or by a provider that is
   * the authority on it. Null: nobody has shown it, and whoever made the account may be somebody else.
   */
  provenAt: number | null
}

/** What somebody signed in with; `oidc:` is followed by the id of the identity provider. */
export type SignInMethod = 'password' | 'passkey' | `oidc:${string}`

/** A signed-in browser. The cookie holds a random token; only its SHA-256 is stored. */
export interface Session {
  tokenHash: string
  /** Names it where the token must not be told. */
  id: string
  teamId: string
  userId: string
  createdAt: number
  expiresAt: number
  /** To some minutes. */
  lastSeenAt: number
  /** When its person last showed the password or a factor. */
  provedAt: number
  method: SignInMethod
  /** More than a password stands behind it: a second factor, a passkey, or a provider that is trusted with it. */
  strong: boolean
  /** It is strong by the word of the provider that it began at, which stays when the person's own factors go. */
  vouched: boolean
  ip: string | null
  userAgent: string | null
}

/** A session with all that decides what its person may do. */
export interface FoundSession {
  session: Session
  user: User
  team: Team
  /** In that team. */
  role: Role
  hasSecondFactor: boolean
  /** The team lets nobody in without a second factor. */
  mfaRequired: boolean
}

/** What the first proof of an address ended. */
export interface FirstProof {
  /** Identities that were unlinked. */
  identities: number
  /** Passkeys that are a second step only from then on. */
  passkeys: number
}

export interface AccountStorage {
  /** Makes the team with its first owner; refuses with `exists` when there is a user with that address, and with `onlyFirst` when there is a team. */
  createOwner(
    args: { team: Team; user: User; onlyFirst?: boolean },
    now: number,
  ): Promise<'created' | 'exists'>
  /**
   * Ends all sessions of the user but `keep` (a token hash), in the same step, sign-ins that wait for the second factor, and
   * links that would set another password: who knew the old one is out.
   * @param args.byMail the link came by mail, which proves the address. Where that is the first proof of it, whatever opened the account
   * by itself before does so no more: identities go, and passkeys become second steps. Returns what became of them then, else null.
   * @param args.was the hash that the old password was compared with; `stale` when it is another meanwhile, and nothing is changed
   */
  setPassword(
    args: { userId: string; passwordHash: string; keep: string | null; byMail?: boolean; was?: string },
    now: number,
  ): Promise<FirstProof | null | 'stale'>
  findUser(args: { email: string }, now: number): Promise<User | undefined>
  /** All of them, by address. */
  listUsers(args: object, now: number): Promise<(User & { hasSecondFactor: boolean })[]>
  getUser(args: { id: string }, now: number): Promise<User | undefined>
  /**
   * The team that a person enters: the one asked for, where the person is its member, else the one joined first. Undefined
   * for a member of none.
   */
  teamToEnter(args: { userId: string; teamId?: string | undefined }, now: number): Promise<Team | undefined>
  /** The oldest team; undefined before set-up. */
  firstTeam(args: object, now: number): Promise<Team | undefined>
  /**
   * One that a factor made strong is so only while its person has a factor, here and from then on.
   * @param args.passwordHash what the password that began it was compared with; false when it is another meanwhile, and there is no session
   */
  createSession(args: Session & { passwordHash?: string | undefined }, now: number): Promise<boolean>
  /** An unexpired session with its user and team. */
  findSession(args: { tokenHash: string }, now: number): Promise<FoundSession | undefined>
  /** Notes that it was used. */
  touchSession(args: { tokenHash: string }, now: number): Promise<void>
  /** Notes that its person showed the password or a factor; `strong` when it was a factor, and the person still has one. */
  proveSession(args: { tokenHash: string; strong: boolean }, now: number): Promise<void>
  deleteSession(args: { tokenHash: string }, now: number): Promise<void>
  /** Removes expired sessions; returns how many. */
  purgeSessions(args: object, now: number): Promise<number>
}
