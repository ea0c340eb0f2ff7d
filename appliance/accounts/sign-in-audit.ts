/** Records successful and failed sign-ins in the audit log, never with a typed password. */
import type { Clock } from '../clock/clock.ts'
import type { SignInMethod, Storage } from '../storage/storage.ts'
import { recordAuditEntry } from './audit.ts'

/** Maximum number of failed sign-ins recorded per minute. Strangers cause them, and must not fill the disk. */
const MOST_IN_A_MINUTE = 30
const MINUTE = 60_000
/** Maximum address length (RFC 5321 §4.5.3.1.3, without the angle brackets). */
const LONGEST_ADDRESS = 254

type Step = 'password' | 'second_factor' | 'passkey'

const REFUSED: Record<Step, string> = {
  password: 'wrong_credentials',
  second_factor: 'wrong_code',
  passkey: 'wrong_passkey',
}

interface From {
  ip: string | null
  userAgent: string | null
}

/** Records sign-ins. */
export interface SignInAudit {
  /** Records a successful sign-in. */
  entered(
    args: { userId: string; teamId: string; sessionId: string; method: SignInMethod; strong: boolean } & From,
  ): Promise<void>
  /** Records a failed sign-in. `email` is the address as typed, when no account has it. */
  refused(
    args: {
      userId: string | null
      email?: string
      /** The step that failed. */
      step: Step
    } & Partial<From>,
  ): Promise<void>
}

type Deps = Pick<Storage, 'appendAudit' | 'getUser' | 'teamToEnter'>

/** Creates the recorder; the count of failures is kept in memory. */
export function createSignInAudit(storage: Deps, clock: Clock): SignInAudit {
  const admit = createMeter(clock)
  return {
    async entered({ userId, teamId, sessionId, method, strong, ip, userAgent }) {
      const user = await storage.getUser({ id: userId }, clock.now())
      await recordAuditEntry(storage, clock, {
        teamId,
        actor: { kind: 'user', name: user?.email ?? userId, ip },
        action: 'session.create',
        target: `session ${sessionId}`,
        details: { method, strong, user_agent: userAgent },
      })
    },

    async refused({ userId, email, step, ip = null, userAgent = null }) {
      const left = admit()
      if (left === undefined) return
      const now = clock.now()
      // Look up both for unknown addresses, too, so that known addresses don't take longer.
      const [user, team] = await Promise.all([
        storage.getUser({ id: userId ?? '' }, now),
        storage.teamToEnter({ userId: userId ?? '' }, now),
      ])
      await recordAuditEntry(storage, clock, {
        teamId: team?.id ?? null,
        actor: { kind: 'user', name: user?.email ?? addressIn(email), ip },
        action: 'session.create',
        target: 'session',
        after: { refused: REFUSED[step] },
        details: { step, user_agent: userAgent, ...(left > 0 && { not_written_before: left }) },
      })
    },
  }
}

/** Returns the typed address only if it looks like one, because people type their password into the wrong field. */
function addressIn(typed = ''): string {
  const looksRight = typed.length <= LONGEST_ADDRESS && /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(typed)
  return looksRight ? typed : '(not an address)'
}

/**
 * Creates a function that returns how many entries were dropped since the last recorded one, or undefined if this entry
 * must be dropped, too.
 */
function createMeter(clock: Clock): () => number | undefined {
  let [until, count, left] = [0, 0, 0]
  return () => {
    const now = clock.now()
    if (now >= until) [until, count] = [now + MINUTE, 0]
    if (++count > MOST_IN_A_MINUTE) {
      left += 1
      return undefined
    }
    const told = left
    left = 0
    return told
  }
}
