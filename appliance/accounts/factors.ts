/** What people have for their second step: adding it, and taking it away. The caller sees to it that it is really they. */
import type { Clock } from '../clock/clock.ts'
import { createThrottle, type Throttle } from '../clock/throttle.ts'
import { refuse } from '../mail/refusals.ts'
import type { FactorCounts, Identity, Passkey, Storage, User } from '../storage/storage.ts'
import {
  createPasskeys,
  type Passkeys,
  type PasskeyCreation,
  type PasskeyRegistration,
  type RelyingParty,
} from './passkeys.ts'
import { createSecondSteps, type SecondSteps, newRecoveryCodes, hashRecoveryCode } from './second-step.ts'
import type { Hasher } from './hasher.ts'
import type { SignIns } from './sign-in.ts'
import { hashToken } from './tokens.ts'
import { describeSecret, newTotpSecret, totpStep } from './totp.ts'

/** A code is one of a million and three are right at any time: 480 tries a day find one in two years, half of the time. */
const MOST_WRONG = 5
const WINDOW = 15 * 60_000

/** Holds back guessing of codes, for each person. A try counts before it is checked, so that many at once gain nothing; a right one is taken back. */
export const createWrongCodes = (clock: Clock): Throttle => createThrottle(clock, MOST_WRONG, WINDOW)

/** Whose, and in which session: the one in which a factor was shown is strong from then on. */
interface Own {
  userId: string
  /** Of the session. */
  token: string
}

/** What somebody has. */
export interface OwnFactors {
  totp: { createdAt: number; lastUsedAt: number | null } | null
  passkeys: Passkey[]
  /** Unused ones. */
  recoveryCodes: number
}

export interface Factors {
  own(userId: string): Promise<OwnFactors>
  /** A secret for an app; nothing counts before `confirmTotp`. Refuses: `totp_exists`. */
  startTotp(args: {
    user: { id: string; email: string }
    issuer: string
  }): Promise<{ secret: string; uri: string }>
  /**
   * The first code came back: the app counts from here on. Returns fresh recovery codes where there were none, else null.
   * Refuses: `wrong_code`, `totp_not_started`, `too_many_attempts`.
   */
  confirmTotp(args: Own & { code: string }): Promise<string[] | null>
  /** False when there was none. */
  removeTotp(userId: string): Promise<boolean>
  /** What the browser needs to make a passkey. Refuses: `passkey_needs_name`. */
  startPasskey(args: { user: { id: string; email: string }; rp: RelyingParty }): Promise<PasskeyCreation>
  /** Keeps it. Recovery codes as `confirmTotp`; refuses as `Passkeys.register`. */
  addPasskey(
    args: Own & { rp: RelyingParty; response: PasskeyRegistration; name: string },
  ): Promise<{ passkey: Passkey; recoveryCodes: string[] | null }>
  renamePasskey(args: { userId: string; id: string; name: string }): Promise<Passkey | undefined>
  /** False where it is not the person's. Refuses: `last_way_in`. */
  removePasskey(args: { userId: string; id: string }): Promise<boolean>
  /** Ten fresh ones; all older ones are void. Refuses: `no_second_factor`. */
  renewRecoveryCodes(userId: string): Promise<string[]>
  /**
   * For somebody who has lost all: the password alone is enough again. All sessions end. Undefined for an unknown address.
   * @param args.unlink takes the linked accounts at providers away, too: somebody else may have them
   */
  reset(args: {
    email: string
    unlink?: boolean
  }): Promise<{ user: User; had: FactorCounts & { identities: Identity[] } } | undefined>
}

/** What they are made of. */
export interface FactorDeps {
  storage: Storage
  clock: Clock
  hasher: Hasher
  signIns: SignIns
}

export function createFactors({ storage, clock, hasher, signIns }: FactorDeps): Factors & SecondSteps {
  const passkeys = createPasskeys({ storage, clock })
  const wrongCodes = createWrongCodes(clock)
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

function ownTotp(deps: Parts): Pick<Factors, 'startTotp' | 'confirmTotp' | 'removeTotp'> {
  const { storage, clock, wrongCodes } = deps
  return {
    async startTotp({ user, issuer }) {
      const secret = newTotpSecret()
      if ((await storage.startTotp({ userId: user.id, secret }, clock.now())) === 'exists')
        throw refuse('totp_exists')
      return describeSecret(secret, { account: user.email, issuer })
    },

    async confirmTotp({ userId, token, code }) {
      const seconds = wrongCodes.attempt([userId])
      if (seconds > 0) throw refuse('too_many_attempts', { seconds })
      const started = await storage.findTotp({ userId }, clock.now())
      if (started?.confirmedAt !== null) throw refuse('totp_not_started')
      const step = totpStep(started.secret, code, clock.now())
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
): Pick<Factors, 'startPasskey' | 'addPasskey' | 'renamePasskey' | 'removePasskey'> {
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

/** After a factor was added: its session is strong, and there are recovery codes. */
async function begin(deps: Parts, { userId, token }: Own): Promise<string[] | null> {
  const { storage, clock } = deps
  await storage.proveSession({ tokenHash: hashToken(token), strong: true }, clock.now())
  return renew(deps, userId, { keep: true })
}

/** Null when there are codes that are to be kept, or no factor any more that they could stand in for. */
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
