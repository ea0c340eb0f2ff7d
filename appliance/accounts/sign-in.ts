/** Every way in: who was recognised, by whatever means, enters here and nowhere else. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Role } from '../mail/roles.ts'
import type { FactorCounts, Session, SignInMethod, Storage, Team, User } from '../storage/storage.ts'
import type { Hasher } from './hasher.ts'
import { createSignInAudit, type SignInAudit } from './sign-in-audit.ts'
import { hashToken, isToken, newToken } from './tokens.ts'

/**
 * How long a sign-in lasts, in milliseconds: 14 days from the sign-in, used or not. The end is fixed, so that reading a
 * session hardly ever writes.
 */
export const SESSION_LIFETIME = 14 * 24 * 3_600_000

/** How long somebody may look for the phone, in milliseconds. */
const SECOND_STEP_LIFETIME = 10 * 60_000

/** How exactly it is known when a session was used last, in milliseconds: each note of it is a write. */
const SEEN_EVERY = 10 * 60_000

/** What can be the second step of a sign-in. */
export type SecondMethod = 'totp' | 'passkey' | 'recovery_code'

/** A session for the browser's cookie, or a ticket for the step that is still missing. */
export type SignInResult =
  | { kind: 'session'; token: string; expiresAt: number }
  | { kind: 'second_factor'; ticket: string; methods: SecondMethod[]; expiresAt: number }

/** From where somebody enters, for the list of sessions. */
export interface Browser {
  ip: string | null
  userAgent: string | null
}

/** Who is signed in. */
export interface SignedIn {
  user: User
  team: Team
  /** When the session ends. */
  expiresAt: number
  session: Session
  /** In that team. */
  role: Role
  /** Whether the person has a factor that counts. */
  hasSecondFactor: boolean
  /** The team lets nobody in without one. */
  mfaRequired: boolean
}

export interface SignIns {
  /**
   * The first step by password. Undefined for a wrong address or password, which take the same time.
   * Refuses: `too_many_attempts` when too many people sign in at this moment; as `enter` does.
   */
  signIn(args: { email: string; password: string } & Browser): Promise<SignInResult | undefined>
  /**
   * Lets in a person who was recognised: a session, or the question for the second factor where the person has one.
   * Refuses: `no_team` when the person is a member of no team, `wrong_credentials` when the password is another meanwhile.
   * @param args.passwordHash what the password was compared with, where it was one
   * @param args.strong no second factor is needed any more: a passkey was shown, or the provider is trusted with it
   * @param args.teamId the team to enter; by default the one that the person joined first
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
  /** Who waits with this ticket for the second step, and what may be it; undefined when it has ended. */
  waiting(ticket: string): Promise<{ userId: string; methods: SecondMethod[] } | undefined>
  /** The second step was taken. Undefined when the ticket has ended or was used meanwhile. */
  finish(args: { ticket: string } & Browser): Promise<{ token: string; expiresAt: number } | undefined>
  /** Who holds this token; undefined when the session has ended or never was. */
  resume(token: string): Promise<SignedIn | undefined>
  signOut(token: string): Promise<void>
}

/** What the ticket of the second step remembers of the first. */
interface FirstStep {
  method: SignInMethod
  teamId: string
}

/** What somebody may answer with. */
function secondMethods({ totp, passkeys, recoveryCodes }: FactorCounts): SecondMethod[] {
  if (!totp && passkeys === 0) return []
  return [
    ...(totp ? (['totp'] as const) : []),
    ...(passkeys > 0 ? (['passkey'] as const) : []),
    ...(recoveryCodes > 0 ? (['recovery_code'] as const) : []),
  ]
}

/** One way of writing an address that people type in any case. */
export const canonical = (email: string): string => email.trim().normalize('NFC').toLowerCase()

/** What sign-ins are made of. */
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
      // After a provider no factor of the person was shown here: what makes the session strong is the provider's word.
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
      const user = await storage.findUser({ email: canonical(email) }, clock.now())
      const right = await hasher.verify(user?.passwordHash ?? null, password)
      if (!right || !user) {
        await audit.refused({
          userId: user?.id ?? null,
          email: canonical(email),
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
    // A storage that cannot write is what people want to look at in the dashboard: they must be let in.
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
  // Whoever had begun with the old password when another was set does not come in.
  if (!(await storage.createSession({ ...begun, ...times, ...named, passwordHash }, now)))
    throw refuse('wrong_credentials')
  await audit.entered({ ...begun, sessionId: named.id, userAgent: named.userAgent })
  return { token, expiresAt }
}
