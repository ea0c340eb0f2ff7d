/**
 * Passkeys: keys in a device or password manager, bound to our host name by the browser (Web Authentication Level 3).
 */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
  VerifiedRegistrationResponse,
} from '@simplewebauthn/server'
import { isIP } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Passkey, Storage, Ticket } from '../storage/storage.ts'
import { hashToken, newToken } from './tokens.ts'

export type PasskeyCreationOptions = PublicKeyCredentialCreationOptionsJSON
export type PasskeyRequestOptions = PublicKeyCredentialRequestOptionsJSON
export type PasskeyRegistration = RegistrationResponseJSON
export type PasskeyAssertion = AuthenticationResponseJSON

/** Time limit for a browser to respond, in milliseconds. People may have to find their security key. */
const CHALLENGE_LIFETIME = 5 * 60_000
/**
 * Signature algorithms in preferred order, by COSE number (RFC 9053 §2, RFC 8812 §2): Ed25519, P-256 with SHA-256, RSA
 * with SHA-256.
 */
const ALGORITHMS = [-8, -7, -257]
/** Maximum number of passkeys per person. */
const MOST_PASSKEYS = 20

/** This server's identity for browsers. */
export interface RelyingParty {
  /** The host name that passkeys are bound to. */
  id: string
  /** Origins of pages that may use them. */
  origins: string[]
  /** Display name. */
  name: string
}

/** The purpose of a challenge. The response is valid only for this purpose. */
export type PasskeyPurpose = 'register' | 'sign_in' | 'second_step' | 'proof'

export interface Passkeys {
  /** Returns the options for the browser to create a passkey. Refuses: `passkey_needs_name`. */
  creation(args: { user: { id: string; email: string }; rp: RelyingParty }): Promise<PasskeyCreationOptions>
  /**
   * Stores a created passkey; `token` is the session's. Refuses: `not_signed_in` when the session has ended,
   * `passkey_refused`, `passkey_origin`, `passkey_taken`, `too_many_passkeys`.
   */
  register(args: {
    userId: string
    token: string
    rp: RelyingParty
    response: PasskeyRegistration
    name: string
  }): Promise<Passkey>
  /**
   * Returns the options for the browser to use a passkey. Refuses: `passkey_needs_name`.
   * @param args.userId null to accept anyone's passkey
   */
  request(args: {
    userId: string | null
    rp: RelyingParty
    purpose: Exclude<PasskeyPurpose, 'register'>
  }): Promise<PasskeyRequestOptions>
  /**
   * Verifies an answer and returns the passkey's owner. For `sign_in` the person wasn't known before, so the device
   * must have verified them. Refuses: `passkey_refused`, `passkey_origin`, `passkey_copied`.
   */
  verify(args: {
    userId: string | null
    rp: RelyingParty
    purpose: Exclude<PasskeyPurpose, 'register'>
    response: PasskeyAssertion
  }): Promise<Passkey>
}

/** Builds the relying party of a page. The host name has no port; browsers treat localhost like HTTPS. */
export function createRelyingParty({
  publicUrl,
  host,
}: {
  publicUrl: string | undefined
  host: string
}): RelyingParty {
  if (publicUrl !== undefined && URL.canParse(publicUrl)) {
    const { hostname, origin } = new URL(publicUrl)
    return { id: hostname, origins: [origin], name: hostname }
  }
  const id = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : host
  return { id, origins: [`https://${host}`, `http://${host}`], name: id }
}

/** Checks that the host is a name, because browsers bind passkeys to a domain, not to an IP. */
function demandName({ id }: RelyingParty): void {
  if (isIP(id.replaceAll(/[[\]]/g, '')) !== 0) throw refuse('passkey_needs_name', { host: id })
}

/** Loaded on demand, because most sign-ins don't need it. */
const library = () => import('@simplewebauthn/server')

export function createPasskeys(deps: PasskeyDeps): Passkeys {
  const challenges = createChallenges(deps)
  return { ...making(deps, challenges), ...using(deps, challenges) }
}

interface PasskeyDeps {
  storage: Storage
  clock: Clock
}

interface Challenges {
  make(userId: string | null, purpose: PasskeyPurpose): Promise<string>
  /** Returns and removes the challenge (base64url) that a response is for. Each challenge is valid for one response. */
  answered(
    response: { clientDataJSON: string },
    expected: { userId: string | null; rp: RelyingParty; purpose: PasskeyPurpose },
  ): Promise<string>
}

/** Stores challenges as tickets, so that responses can be matched with them. */
function createChallenges({ storage, clock }: PasskeyDeps): Challenges {
  return {
    async make(userId, purpose) {
      const now = clock.now()
      const token = newToken()
      const ticket: Ticket = {
        tokenHash: hashToken(token),
        kind: 'passkey',
        userId,
        data: { purpose },
        createdAt: now,
        expiresAt: now + CHALLENGE_LIFETIME,
      }
      await storage.createTicket(ticket, now)
      return token
    },

    async answered({ clientDataJSON }, { userId, rp, purpose }) {
      const client = readClientData(clientDataJSON)
      const ticket = { tokenHash: hashToken(client.challenge), kind: 'passkey' } as const
      const taken = await storage.takeTicket(ticket, clock.now())
      const made = taken?.data as { purpose: PasskeyPurpose } | undefined
      if (taken?.userId !== userId || made?.purpose !== purpose) throw refuse('passkey_refused')
      if (!rp.origins.includes(client.origin)) throw refuse('passkey_origin', { origin: rp.origins[0]! })
      return client.challenge
    },
  }
}

function making(
  { storage, clock }: PasskeyDeps,
  challenges: Challenges,
): Pick<Passkeys, 'creation' | 'register'> {
  return {
    async creation({ user, rp }) {
      demandName(rp)
      const { generateRegistrationOptions } = await library()
      const known = await storage.listPasskeys({ userId: user.id }, clock.now())
      return generateRegistrationOptions({
        rpName: rp.name,
        rpID: rp.id,
        userName: user.email,
        userDisplayName: user.email,
        userID: new Uint8Array(Buffer.from(user.id)),
        challenge: bytesOf(await challenges.make(user.id, 'register')),
        attestationType: 'none',
        supportedAlgorithmIDs: ALGORITHMS,
        excludeCredentials: known.map(toDescriptor),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      })
    },

    async register({ userId, token, rp, response, name }) {
      const expected = await challenges.answered(response.response, { userId, rp, purpose: 'register' })
      const { verifyRegistrationResponse } = await library()
      const { verified, registrationInfo } = await accepted(
        verifyRegistrationResponse({
          response,
          expectedChallenge: expected,
          expectedOrigin: rp.origins,
          expectedRPID: rp.id,
          requireUserVerification: false,
          supportedAlgorithmIDs: ALGORITHMS,
        }),
      )
      if (!verified) throw refuse('passkey_refused')
      const now = clock.now()
      const passkey = passkeyOf(registrationInfo, {
        id: newId(now),
        userId,
        rpId: rp.id,
        name,
        transports: response.response.transports ?? [],
        createdAt: now,
      })
      const added = await storage.addPasskey(
        { passkey, most: MOST_PASSKEYS, tokenHash: hashToken(token) },
        now,
      )
      if (added === 'signed_out') throw refuse('not_signed_in')
      if (added === 'exists') throw refuse('passkey_taken')
      if (added === 'full') throw refuse('too_many_passkeys', { limit: MOST_PASSKEYS })
      return passkey
    },
  }
}

/** Builds a passkey from a registration. It has not been used yet. */
function passkeyOf(
  { credential, credentialBackedUp }: NonNullable<VerifiedRegistrationResponse['registrationInfo']>,
  about: Pick<Passkey, 'id' | 'userId' | 'rpId' | 'name' | 'transports' | 'createdAt'>,
): Passkey {
  return {
    ...about,
    credentialId: credential.id,
    publicKey: credential.publicKey,
    counter: credential.counter,
    synced: credentialBackedUp,
    alone: true,
    lastUsedAt: null,
  }
}

function using(
  { storage, clock }: PasskeyDeps,
  challenges: Challenges,
): Pick<Passkeys, 'request' | 'verify'> {
  return {
    async request({ userId, rp, purpose }) {
      demandName(rp)
      const { generateAuthenticationOptions } = await library()
      const known = userId === null ? [] : await storage.listPasskeys({ userId }, clock.now())
      return generateAuthenticationOptions({
        rpID: rp.id,
        challenge: bytesOf(await challenges.make(userId, purpose)),
        allowCredentials: known.filter(({ rpId }) => rpId === rp.id).map(toDescriptor),
        userVerification: purpose === 'sign_in' ? 'required' : 'preferred',
      })
    },

    async verify({ userId, rp, purpose, response }) {
      const expected = await challenges.answered(response.response, { userId, rp, purpose })
      const passkey = await storage.findPasskey({ credentialId: response.id }, clock.now())
      if (!passkey || !isOf(passkey, userId, response)) throw refuse('passkey_refused')
      const { verifyAuthenticationResponse } = await library()
      const { verified, authenticationInfo } = await accepted(
        verifyAuthenticationResponse({
          response,
          expectedChallenge: expected,
          expectedOrigin: rp.origins,
          expectedRPID: rp.id,
          requireUserVerification: purpose === 'sign_in',
          // The counter is checked in storage, so that only one of two simultaneous responses is accepted.
          credential: { id: passkey.credentialId, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
        }),
      )
      if (!verified) throw refuse('passkey_refused')
      const { newCounter: counter, credentialBackedUp: synced } = authenticationInfo
      const { credentialId } = passkey
      if (!(await storage.usePasskey({ credentialId, counter, synced }, clock.now())))
        throw refuse('passkey_copied', { name: passkey.name })
      return passkey
    },
  }
}

/** Whether the credential belongs to the requested user and to the one the device names (WebAuthn §7.2). */
function isOf(passkey: Passkey, userId: string | null, { response }: PasskeyAssertion): boolean {
  if (userId !== null && passkey.userId !== userId) return false
  const named = response.userHandle
  if (named === undefined) return userId !== null
  return Buffer.from(named, 'base64url').toString() === passkey.userId
}

const toDescriptor = ({ credentialId, transports }: Passkey) => ({ id: credentialId, transports })

const bytesOf = (challenge: string) => new Uint8Array(Buffer.from(challenge, 'base64url'))

/** Parses the client data that the browser signed (WebAuthn §5.8.1). */
function readClientData(encoded: string): { challenge: string; origin: string } {
  try {
    const read = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Record<string, unknown>
    const { challenge, origin } = read
    if (typeof challenge === 'string' && typeof origin === 'string') return { challenge, origin }
  } catch {
    // The client data isn't JSON, so it wasn't created by a browser.
  }
  throw refuse('passkey_refused')
}

async function accepted<T>(verification: Promise<T>): Promise<T> {
  try {
    return await verification
  } catch {
    // The library throws for every invalid answer. The reason would only help an attacker.
    throw refuse('passkey_refused')
  }
}
