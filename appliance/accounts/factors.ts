/** Manages a person's second factors. The caller has verified the person. */
import type { Clock } from '../clock/clock.ts'
import { createThrottle, type Throttle } from '../clock/throttle.ts'
import { refuse } from '../mail/refusals.ts'
import type { FactorCounts, Identity, Passkey, Storage, User } from '../storage/storage.ts'
import {
  createPasskeys,
  type Passkeys,
  type PasskeyCreationOptions,
  type PasskeyRegistration,
  type RelyingParty,
} from './passkeys.ts'
import { createSecondSteps, type SecondSteps, newRecoveryCodes, hashRecoveryCode } from './second-step.ts'
import type { Hasher } from './hasher.ts'
import type { SignIns } from './sign-in.ts'
import { hashToken } from './tokens.ts'
import { formatTotpSecret, newTotpSecret, findTotpStep } from './totp.ts'

/**
 * Maximum number of wrong codes. A code has six digits, and three are valid at any time: 480 attempts per day find one
 * in two years with 50% probability.
 */
const MOST_WRONG = 5
/** Minimum share of a node, so that people can correct a mistake. */
const LEAST_WRONG = 2
const WINDOW = 15 * 60_000

/**
 * Limits wrong codes per person. Counts an attempt before checking it, so that parallel attempts have no advantage, and
 * uncounts it if the code was correct.
 * @param shareOf divides the limit among the nodes, because each node counts separately
 */
export const createWrongCodeThrottle = (clock: Clock, shareOf = (limit: number) => limit): Throttle =>
  createThrottle(clock, () => Math.max(LEAST_WRONG, shareOf(MOST_WRONG)), WINDOW)

/** A person and their session. Once a factor was used in it, the session counts as strong. */
interface Own {
  userId: string
  /** The session's token. */
  token: string
}

/** A person's factors. */
export interface UserSecondFactors {
  totp: { createdAt: number; lastUsedAt: number | null } | null
  passkeys: Passkey[]
  /** Unused ones. */
  recoveryCodes: number
}

export interface SecondFactors {
  own(userId: string): Promise<UserSecondFactors>
  /** Generates a secret for an authenticator app; it has no effect before `confirmTotp`. Refuses: `totp_exists`. */
  startTotp(args: {
    user: { id: string; email: string }
    issuer: string
  }): Promise<{ secret: string; uri: string }>
  /**
   * Activates the authenticator app once its first code is correct. Returns new recovery codes if there were none, else
   * null. Refuses: `wrong_code`, `totp_not_started`, `too_many_attempts`.
   */
  confirmTotp(args: Own & { code: string }): Promise<string[] | null>
  /** Removes the authenticator app. Returns false if there was none. */
  removeTotp(userId: string): Promise<boolean>
  /** Returns the options for the browser to create a passkey. Refuses: `passkey_needs_name`. */
  startPasskey(args: {
    user: { id: string; email: string }
    rp: RelyingParty
  }): Promise<PasskeyCreationOptions>
  /** Stores the passkey. Returns recovery codes as `confirmTotp` does; refuses as `Passkeys.register` does. */
  addPasskey(
    args: Own & { rp: RelyingParty; response: PasskeyRegistration; name: string },
  ): Promise<{ passkey: Passkey; recoveryCodes: string[] | null }>
  renamePasskey(args: { userId: string; id: string; name: string }): Promise<Passkey | undefined>
  /** Removes a passkey. Returns false if the person has no such passkey. Refuses: `last_way_in`. */
  removePasskey(args: { userId: string; id: string }): Promise<boolean>
  /** Generates ten new codes and invalidates all older ones. Refuses: `no_second_factor`. */
  renewRecoveryCodes(userId: string): Promise<string[]>
  /**
   * Removes all factors of someone who has lost them, so that the password alone is enough again. Ends all sessions.
   * Undefined for an unknown address.
   * @param args.unlink also removes linked accounts at providers, which someone else may control
   */
  reset(args: {
    email: string
    unlink?: boolean
  }): Promise<{ user: User; had: FactorCounts & { identities: Identity[] } } | undefined>
}

/** Dependencies. */
export interface SecondFactorDeps {
  storage: Storage
  clock: Clock
  hasher: Hasher
  signIns: SignIns
  /** Divides a limit that each node counts separately by the number of live nodes. Default: there is only one. */
  shareOf?: ((limit: number) => number) | undefined
}

export function createSecondFactors({
  storage,
  clock,
  hasher,
  signIns,
  shareOf,
}: SecondFactorDeps): SecondFactors & SecondSteps {
  const passkeys = createPasskeys({ storage, clock })
  const wrongCodes = createWrongCodeThrottle(clock, shareOf)
  const deps = { storage, clock, passkeys, wrongCodes }
  return {
    ...createSecondSteps({ ...deps, hasher, signIns }),
    ...ownTotp(deps),
    ...ownPasskeys(deps),

    async own(userId) {
      const now = clock.now()
      const asked = { userId }
      const [totp, keys, { recoveryCodes }] = await Promise.all([
        storage.findTotp(asked, now),
        storage.listPasskeys(asked, now),
        storage.countFactors(asked, now),
      ])
      const counts = totp && totp.confirmedAt !== null
      const app = counts ? { createdAt: totp.createdAt, lastUsedAt: totp.lastUsedAt } : null
      return { totp: app, passkeys: keys, recoveryCodes }
    },

    async renewRecoveryCodes(userId) {
      const codes = await renew(deps, userId, { keep: false })
      if (!codes) throw refuse('no_second_factor')
      return codes
    },

    async reset({ email, unlink = false }) {
      const user = await storage.findUser({ email }, clock.now())
      if (!user) return undefined
      return { user, had: await storage.resetFactors({ userId: user.id, unlink }, clock.now()) }
    },
  }
}

interface Parts {
  storage: Storage
  clock: Clock
  passkeys: Passkeys
  wrongCodes: Throttle
}

function ownTotp(deps: Parts): Pick<SecondFactors, 'startTotp' | 'confirmTotp' | 'removeTotp'> {
  const { storage, clock, wrongCodes } = deps
  return {
    async startTotp({ user, issuer }) {
      const secret = newTotpSecret()
      if ((await storage.startTotp({ userId: user.id, secret }, clock.now())) === 'exists')
        throw refuse('totp_exists')
      return formatTotpSecret(secret, { account: user.email, issuer })
    },

    async confirmTotp({ userId, token, code }) {
      const seconds = wrongCodes.attempt([userId])
      if (seconds > 0) throw refuse('too_many_attempts', { seconds })
      const started = await storage.findTotp({ userId }, clock.now())
      if (started?.confirmedAt !== null) throw refuse('totp_not_started')
      const step = findTotpStep(started.secret, code, clock.now())
      if (step === undefined) throw refuse('wrong_code')
      const confirmed = { userId, startedAt: started.createdAt, step }
      if (!(await storage.confirmTotp(confirmed, clock.now()))) throw refuse('totp_not_started')
      wrongCodes.takeBack(userId)
      return begin(deps, { userId, token })
    },

    removeTotp: (userId) => storage.removeTotp({ userId }, clock.now()),
  }
}

function ownPasskeys(
  deps: Parts,
): Pick<SecondFactors, 'startPasskey' | 'addPasskey' | 'renamePasskey' | 'removePasskey'> {
  const { storage, clock, passkeys } = deps
  return {
    startPasskey: ({ user, rp }) => passkeys.creation({ user, rp }),

    async addPasskey({ userId, token, ...made }) {
      const passkey = await passkeys.register({ userId, token, ...made })
      return { passkey, recoveryCodes: await begin(deps, { userId, token }) }
    },

    renamePasskey: (args) => storage.renamePasskey(args, clock.now()),

    async removePasskey(args) {
      const done = await storage.removePasskey(args, clock.now())
      if (done === 'last') throw refuse('last_way_in')
      return done === 'removed'
    },
  }
}

/** Marks the session as strong after a factor was added, and generates recovery codes if there are none. */
async function begin(deps: Parts, { userId, token }: Own): Promise<string[] | null> {
  const { storage, clock } = deps
  await storage.proveSession({ tokenHash: hashToken(token), strong: true }, clock.now())
  return renew(deps, userId, { keep: true })
}

/**
 * Generates and stores recovery codes. Returns null if existing codes are kept, or if no second factor is left that
 * they could replace.
 */
async function renew(
  { storage, clock }: Parts,
  userId: string,
  { keep }: { keep: boolean },
): Promise<string[] | null> {
  const codes = newRecoveryCodes()
  const hashes = codes.map((code) => hashRecoveryCode(code)!)
  const done = await storage.replaceRecoveryCodes({ userId, hashes, keep }, clock.now())
  return done === 'replaced' ? codes : null
}
