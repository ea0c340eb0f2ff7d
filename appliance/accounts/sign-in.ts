/** Completes every sign-in, whatever the method. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Role } from '../mail/roles.ts'
import type { FactorCounts, Session, SignInMethod, Storage, Team, User } from '../storage/storage.ts'
import type { Hasher } from './hasher.ts'
import { createSignInAudit, type SignInAudit } from './sign-in-audit.ts'
import { hashToken, isToken, newToken } from './tokens.ts'

/**
 * How long a session lasts from the sign-in, in milliseconds: 14 days. The end is fixed, so that using a session rarely
 * writes to the database.
 */
export const SESSION_LIFETIME = 14 * 24 * 3_600_000

/** How long the second step may take, in milliseconds; people may have to find their phone. */
const SECOND_STEP_LIFETIME = 10 * 60_000

/** Precision of the time of a session's last use, in milliseconds. Each update is a write. */
const SEEN_EVERY = 10 * 60_000

/** Methods for the second step of a sign-in. */
export type SecondMethod = 'totp' | 'passkey' | 'recovery_code'

/** A session for the browser's cookie, or a ticket for the second step. */
export type SignInResult =
  | { kind: 'session'; token: string; expiresAt: number }
  | { kind: 'second_factor'; ticket: string; methods: SecondMethod[]; expiresAt: number }

/** IP address and user agent of a sign-in, for the list of sessions. */
export interface Browser {
  ip: string | null
  userAgent: string | null
}

/** A signed-in person. */
export interface SignedInUser {
  user: User
  team: Team
  /** When the session ends. */
  expiresAt: number
  session: Session
  /** The person's role in that team. */
  role: Role
  /** Whether the person has an active second factor. */
  hasSecondFactor: boolean
  /** Whether the team requires one. */
  mfaRequired: boolean
}

export interface SignIns {
  /**
   * Takes the first step by password. Undefined for a wrong address or password, which take equally long. Refuses:
   * `too_many_attempts` when too many people are signing in, and for the same reasons as `enter`.
   */
  signIn(args: { email: string; password: string } & Browser): Promise<SignInResult | undefined>
  /**
   * Signs in an identified person: returns a session, or a ticket when the person has a second factor. Refuses:
   * `no_team` when the person has no team, `wrong_credentials` when the password was changed at the same time.
   * @param args.passwordHash the hash that the password was compared with, if any
   * @param args.strong no second factor is needed: a passkey was used, or the provider is trusted with it
   * @param args.teamId the team to enter; default: the one joined first
   */
  enter(
    args: {
      userId: string
      method: SignInMethod
      strong: boolean
      teamId?: string | undefined
      passwordHash?: string
    } & Browser,
  ): Promise<SignInResult>
  /**
   * Returns the user that a ticket for the second step is for, and the available methods; undefined when it has
   * expired.
   */
  waiting(ticket: string): Promise<{ userId: string; methods: SecondMethod[] } | undefined>
  /** Completes the second step. Undefined when the ticket has expired or was used. */
  finish(args: { ticket: string } & Browser): Promise<{ token: string; expiresAt: number } | undefined>
  /** Returns the person whose session has this token; undefined when the session has ended or never existed. */
  resume(token: string): Promise<SignedInUser | undefined>
  signOut(token: string): Promise<void>
}

/** Data about the first step, stored in the ticket for the second. */
interface FirstStep {
  method: SignInMethod
  teamId: string
}

/** Returns the methods available for the second step. */
function secondMethods({ totp, passkeys, recoveryCodes }: FactorCounts): SecondMethod[] {
  if (!totp && passkeys === 0) return []
  return [
    ...(totp ? (['totp'] as const) : []),
    ...(passkeys > 0 ? (['passkey'] as const) : []),
    ...(recoveryCodes > 0 ? (['recovery_code'] as const) : []),
  ]
}

/** Normalizes an address that people type in any case. */
export const normalizeEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase()

/** Dependencies of sign-ins. */
export interface SignInDeps {
  storage: Storage
  clock: Clock
  hasher: Hasher
}

export function createSignIns({ storage, clock, hasher }: SignInDeps): SignIns {
  const audit = createSignInAudit(storage, clock)
  const enter: SignIns['enter'] = async ({ userId, method, strong, teamId, passwordHash, ...browser }) => {
    const now = clock.now()
    const team = await storage.teamToEnter({ userId, teamId }, now)
    if (!team) throw refuse('no_team')
    const methods = strong ? [] : secondMethods(await storage.countFactors({ userId }, now))
    if (methods.length === 0) {
      // With a provider, no factor was used here. The session is strong because the provider vouches for the person.
      const vouched = strong && method.startsWith('oidc:')
      const begun = { userId, method, strong, vouched, teamId: team.id, passwordHash, ...browser }
      return { kind: 'session', ...(await beginSession(storage, audit, begun, now)) }
    }
    const ticket = newToken()
    const expiresAt = now + SECOND_STEP_LIFETIME
    const data: FirstStep = { method, teamId: team.id }
    const kept = { tokenHash: hashToken(ticket), kind: 'second_factor', userId, data } as const
    await storage.createTicket({ ...kept, createdAt: now, expiresAt }, now)
    return { kind: 'second_factor', ticket, methods, expiresAt }
  }

  return {
    enter,

    async signIn({ email, password, ...browser }) {
      const user = await storage.findUser({ email: normalizeEmail(email) }, clock.now())
      const right = await hasher.verify(user?.passwordHash ?? null, password)
      if (!right || !user) {
        await audit.refused({
          userId: user?.id ?? null,
          email: normalizeEmail(email),
          step: 'password',
          ...browser,
        })
        return undefined
      }
      const { id: userId, passwordHash } = user
      if (passwordHash === null) return undefined
      return enter({ userId, method: 'password', strong: false, passwordHash, ...browser })
    },

    async waiting(ticket) {
      if (!isToken(ticket)) return undefined
      const now = clock.now()
      const found = await storage.peekTicket({ tokenHash: hashToken(ticket), kind: 'second_factor' }, now)
      if (!found?.userId) return undefined
      const counts = await storage.countFactors({ userId: found.userId }, now)
      return { userId: found.userId, methods: secondMethods(counts) }
    },

    async finish({ ticket, ...browser }) {
      const now = clock.now()
      const taken = await storage.takeTicket({ tokenHash: hashToken(ticket), kind: 'second_factor' }, now)
      if (!taken?.userId) return undefined
      const { method, teamId } = taken.data as FirstStep
      const team = await storage.teamToEnter({ userId: taken.userId, teamId }, now)
      if (!team) throw refuse('no_team')
      const shown = { strong: true, vouched: false }
      const begun = { userId: taken.userId, method, ...shown, teamId: team.id, ...browser }
      return beginSession(storage, audit, begun, now)
    },

    ...createResume(storage, clock),
  }
}

function createResume(storage: Storage, clock: Clock): Pick<SignIns, 'resume' | 'signOut'> {
  return {
    async resume(token) {
      if (!isToken(token)) return undefined
      const now = clock.now()
      const tokenHash = hashToken(token)
      const found = await storage.findSession({ tokenHash }, now)
      if (!found) return undefined
      if (now - found.session.lastSeenAt >= SEEN_EVERY) await noteSeen(storage, tokenHash, now)
      return { ...found, expiresAt: found.session.expiresAt }
    },

    signOut: (token) => storage.deleteSession({ tokenHash: hashToken(token) }, clock.now()),
  }
}

async function noteSeen(storage: Storage, tokenHash: string, now: number): Promise<void> {
  try {
    await storage.touchSession({ tokenHash }, now)
  } catch {
    // Let people in even if storage can't write: they may want to see the problem in the dashboard.
  }
}

type Begun = Pick<Session, 'userId' | 'teamId' | 'method' | 'strong' | 'vouched'> &
  Browser & { passwordHash?: string | undefined }

async function beginSession(
  storage: Storage,
  audit: SignInAudit,
  { userAgent, passwordHash, ...begun }: Begun,
  now: number,
): Promise<{ token: string; expiresAt: number }> {
  const token = newToken()
  const expiresAt = now + SESSION_LIFETIME
  const times = { createdAt: now, lastSeenAt: now, provedAt: now, expiresAt }
  const named = { tokenHash: hashToken(token), id: newId(now), userAgent: userAgent?.slice(0, 500) ?? null }
  // Refuse sign-ins that began with the old password while a new one was being set.
  if (!(await storage.createSession({ ...begun, ...times, ...named, passwordHash }, now)))
    throw refuse('wrong_credentials')
  await audit.entered({ ...begun, sessionId: named.id, userAgent: named.userAgent })
  return { token, expiresAt }
}
