/** The second step of a sign-in, and re-authentication. */
import type { Clock } from '../clock/clock.ts'
import type { Throttle } from '../clock/throttle.ts'
import { refuse } from '../mail/refusals.ts'
import type { Storage } from '../storage/storage.ts'
import type { Hasher } from './hasher.ts'
import type { PasskeyAssertion, PasskeyRequestOptions, Passkeys, RelyingParty } from './passkeys.ts'
import { createSignInAudit } from './sign-in-audit.ts'
import type { Browser, SignInResult, SignIns } from './sign-in.ts'
import { hashToken, isToken } from './tokens.ts'
import { findTotpStep } from './totp.ts'
import { randomBytes } from 'node:crypto'

/** How many recovery codes are generated. */
const CODES = 10

/** Crockford's alphabet, without letters that look like digits, so that misread codes still work. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Characters per code: 80 bits, so that someone with the database can't brute-force the fast hash. */
const LENGTH = 16

/** Generates recovery codes in four groups of four characters. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, () =>
    // 256 is a multiple of 32, so all characters are equally likely.
    Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]!)
      .join('')
      .replaceAll(/(.{4})(?=.)/g, '$1-'),
  )
}

/**
 * Hashes a typed recovery code for storage. Ignores case, spaces and hyphens, and reads O as 0 and I or L as 1. Returns
 * undefined when the text can't be a code.
 */
export function hashRecoveryCode(typed: string): string | undefined {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return code.length === LENGTH && [...code].every((letter) => ALPHABET.includes(letter))
    ? hashToken(code)
    : undefined
}

/** Maximum number of answers per ticket. */
const MOST_TRIES = 5

/**
 * How long a re-authentication counts, in milliseconds: for changing factors, and for other actions that a passer-by at
 * an unlocked computer must not take.
 */
export const PROOF_LIFETIME = 10 * 60_000

/** A person's answer in the second step or for re-authentication. */
export type Credential =
  | { password: string }
  | { code: string }
  | { recoveryCode: string }
  | { passkey: PasskeyAssertion; rp: RelyingParty }

type Began = { token: string; expiresAt: number }

export interface SecondSteps {
  /**
   * Completes the second step. A passkey must be requested first with `requestPasskey`. Refuses: `sign_in_over`,
   * `wrong_code`, `too_many_attempts`, and for the same reasons as `Passkeys.verify`.
   */
  answer(
    args: { ticket: string; answer: Exclude<Credential, { password: string }> } & Browser,
  ): Promise<Began>
  /**
   * Requests a passkey for the second step or, without a ticket, for signing in by passkey alone. Refuses:
   * `sign_in_over`.
   */
  requestPasskey(args: { ticket: string | undefined; rp: RelyingParty }): Promise<PasskeyRequestOptions>
  /** Signs in by passkey alone. Refuses for the same reasons as `Passkeys.verify` and `enter`. */
  signInByPasskey(args: { response: PasskeyAssertion; rp: RelyingParty } & Browser): Promise<SignInResult>
  /** Requests a passkey for `prove`. */
  requestProof(args: { userId: string; rp: RelyingParty }): Promise<PasskeyRequestOptions>
  /**
   * Re-authenticates a signed-in person. A factor makes the session strong. Refuses: `wrong_password`, `wrong_code`,
   * `too_many_attempts`, and for the same reasons as `Passkeys.verify`.
   * @param args.token of the session
   */
  prove(args: { token: string; userId: string; answer: Credential }): Promise<void>
}

/** Dependencies. */
export interface SecondStepDeps {
  storage: Storage
  clock: Clock
  hasher: Hasher
  signIns: Pick<SignIns, 'enter' | 'finish' | 'waiting'>
  passkeys: Passkeys
  wrongCodes: Throttle
}

export function createSecondSteps(deps: SecondStepDeps): SecondSteps {
  const { storage, clock, signIns, passkeys } = deps
  const audit = createSignInAudit(storage, clock)
  return {
    async answer({ ticket, answer, ...browser }) {
      const userId = await tryTicket(storage, clock, ticket)
      try {
        await checkFactor(deps, userId, answer, 'second_step')
      } catch (error) {
        await audit.refused({ userId, step: 'second_factor', ...browser })
        throw error
      }
      // Use up the ticket last, so that only one of two correct answers succeeds, and a wrong answer doesn't use it up.
      const began = await signIns.finish({ ticket, ...browser })
      if (!began) throw refuse('sign_in_over')
      return began
    },

    async requestPasskey({ ticket, rp }) {
      if (ticket === undefined) return passkeys.request({ userId: null, rp, purpose: 'sign_in' })
      const waiting = await signIns.waiting(ticket)
      if (!waiting) throw refuse('sign_in_over')
      return passkeys.request({ userId: waiting.userId, rp, purpose: 'second_step' })
    },

    async signInByPasskey({ response, rp, ...browser }) {
      const userId = await passkeyAlone(passkeys, { response, rp }).catch(async (error: unknown) => {
        // An unknown passkey isn't recorded as a failed sign-in, because it belongs to no account. A known one may be a
        // copy.
        const known = await storage.findPasskey({ credentialId: response.id }, clock.now())
        if (known) await audit.refused({ userId: known.userId, step: 'passkey', ...browser })
        throw error
      })
      // The device had the key and verified the person: two factors.
      return signIns.enter({ userId, method: 'passkey', strong: true, ...browser })
    },

    requestProof: ({ userId, rp }) => passkeys.request({ userId, rp, purpose: 'proof' }),

    async prove({ token, userId, answer }) {
      const byPassword = 'password' in answer
      if (byPassword) await checkPassword(deps, userId, answer.password)
      else await checkFactor(deps, userId, answer, 'proof')
      await storage.proveSession({ tokenHash: hashToken(token), strong: !byPassword }, clock.now())
    },
  }
}

/** Finds the owner of a passkey used as a complete sign-in. */
async function passkeyAlone(
  passkeys: Passkeys,
  shown: { response: PasskeyAssertion; rp: RelyingParty },
): Promise<string> {
  const { userId, alone, name } = await passkeys.verify({ userId: null, purpose: 'sign_in', ...shown })
  if (!alone) throw refuse('passkey_not_alone', { name })
  return userId
}

/** Finds the user that a ticket is for, and counts the attempt. */
async function tryTicket(storage: Storage, clock: Clock, ticket: string): Promise<string> {
  if (!isToken(ticket)) throw refuse('sign_in_over')
  const asked = { tokenHash: hashToken(ticket), kind: 'second_factor', most: MOST_TRIES } as const
  const found = await storage.tryTicket(asked, clock.now())
  if (!found?.userId) throw refuse('sign_in_over')
  return found.userId
}

async function checkPassword({ storage, clock, hasher }: SecondStepDeps, userId: string, password: string) {
  const user = await storage.getUser({ id: userId }, clock.now())
  if (!(await hasher.verify(user?.passwordHash ?? null, password)))
    throw refuse('wrong_password', { field: 'password' })
}

async function checkFactor(
  deps: SecondStepDeps,
  userId: string,
  answer: Exclude<Credential, { password: string }>,
  purpose: 'second_step' | 'proof',
): Promise<void> {
  const { storage, clock, passkeys } = deps
  if ('passkey' in answer) {
    await passkeys.verify({ userId, rp: answer.rp, purpose, response: answer.passkey })
    return
  }
  if ('recoveryCode' in answer) {
    const hash = hashRecoveryCode(answer.recoveryCode)
    if (hash === undefined || !(await storage.useRecoveryCode({ userId, hash }, clock.now())))
      throw refuse('wrong_code')
    return
  }
  await checkTotp(deps, userId, answer.code)
}

/** Checks a code from an authenticator app. Recovery codes need no limit on attempts, because there are 2^80. */
async function checkTotp(
  { storage, clock, wrongCodes }: Pick<SecondStepDeps, 'storage' | 'clock' | 'wrongCodes'>,
  userId: string,
  code: string,
): Promise<void> {
  const seconds = wrongCodes.attempt([userId])
  if (seconds > 0) throw refuse('too_many_attempts', { seconds })
  const totp = await storage.findTotp({ userId }, clock.now())
  const step = totp && totp.confirmedAt !== null ? findTotpStep(totp.secret, code, clock.now()) : undefined
  if (step === undefined || !(await storage.useTotp({ userId, step }, clock.now())))
    throw refuse('wrong_code')
  wrongCodes.takeBack(userId)
}
