/** Teams, their people, and who is signed in. */

export interface Team {
  id: string
  name: string
  createdAt: number
}

export interface User {
  id: string
  email: string
  /** argon2id in PHC string form. */
  passwordHash: string
  createdAt: number
}

/** A signed-in browser. The cookie holds a random token; only its SHA-256 is stored. */
export interface Session {
  tokenHash: string
  teamId: string
  userId: string
  createdAt: number
  expiresAt: number
  ip: string | null
  userAgent: string | null
}

export interface AccountStorage {
  /** Makes the team with its first owner; refuses with `exists` when there is a user with that address. */
  createOwner(args: { team: Team; user: User }, now: number): Promise<'created' | 'exists'>
  setPassword(args: { userId: string; passwordHash: string }, now: number): Promise<void>
  findUser(args: { email: string }, now: number): Promise<User | undefined>
  /** The oldest team; undefined before set-up. */
  firstTeam(args: object, now: number): Promise<Team | undefined>
  createSession(args: Session, now: number): Promise<void>
  /** An unexpired session with its user and team. */
  findSession(
    args: { tokenHash: string },
    now: number,
  ): Promise<{ session: Session; user: User; team: Team } | undefined>
  deleteSession(args: { tokenHash: string }, now: number): Promise<void>
  /** Removes expired sessions; returns how many. */
  purgeSessions(args: object, now: number): Promise<number>
}
