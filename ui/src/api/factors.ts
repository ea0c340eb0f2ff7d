/** API calls for two-step sign-in: completing the second step, and managing the second steps of an account. */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import type { Static } from 'typebox'
import type {
  FactorAdded,
  Factors,
  Passkey,
  PasskeyOptions,
  Proof,
  RecoveryCodes,
  TotpStarted,
} from '../../../appliance/api/factors.ts'
import type { Session, SignIn, SignInStep } from '../../../appliance/api/session.ts'
import { ApiError, change, postQuery, read } from './client.ts'

export type { Factors, Passkey } from '../../../appliance/api/factors.ts'
export type { SignInStep } from '../../../appliance/api/session.ts'

/** Signs in with a password. Returns a session, or the second step that is required. */
export const signIn = (body: Static<typeof SignIn>) => postQuery<Session | SignInStep>('/session', body)

/** Returns the second step that is required after a sign-in at an identity provider; null if there is none. */
export async function getSignInStep(): Promise<SignInStep | null> {
  try {
    return await read<SignInStep>('/session/step')
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}

export const cancelSignInStep = () => change('DELETE', '/session/step')

export const submitTotp = (code: string) => change<Session>('POST', '/session/totp', { code })

export const submitRecoveryCode = (code: string) =>
  change<Session>('POST', '/session/recovery-code', { code })

/** Converts the browser's passkey error to one with a message for the user. */
function whyNot(error: unknown): Error {
  const name = error instanceof Error ? error.name : ''
  if (name === 'NotAllowedError' || name === 'AbortError')
    return new Error('The passkey wasn’t used: you canceled the request, or it timed out.')
  if (name === 'InvalidStateError') return new Error('This device already has a passkey for this account.')
  if (name === 'SecurityError')
    return new Error('Passkeys work only over HTTPS, on the hostname they were created for.')
  return error instanceof Error ? error : new Error(String(error))
}

/** Asks the browser to sign in with a passkey. */
async function answer(path: string): Promise<AuthenticationResponseJSON> {
  const { options } = await postQuery<Static<typeof PasskeyOptions>>(path)
  const { startAuthentication } = await import('@simplewebauthn/browser')
  try {
    return await startAuthentication({ optionsJSON: options as PublicKeyCredentialRequestOptionsJSON })
  } catch (error) {
    throw whyNot(error)
  }
}

/** Completes the second step with a passkey. A passkey can also sign in on its own, without a first step. */
export async function signInWithPasskey(): Promise<Session> {
  const response = await answer('/session/passkey/options')
  return change<Session>('POST', '/session/passkey', { response })
}

export const getFactors = (signal?: AbortSignal) => read<Factors>('/account/factors', signal)

/** Confirms the person's identity, which is required to change second steps. */
export const confirmIdentity = (proof: Static<typeof Proof>) => change('POST', '/account/proof', proof)

export async function confirmIdentityWithPasskey(): Promise<void> {
  await confirmIdentity({ response: await answer('/account/proof/options') })
}

export const startTotp = () => postQuery<Static<typeof TotpStarted>>('/account/totp')

export const confirmTotp = (code: string) => change<FactorAdded>('POST', '/account/totp/confirm', { code })

export const removeTotp = () => change('DELETE', '/account/totp')

export const renewRecoveryCodes = () =>
  change<Static<typeof RecoveryCodes>>('POST', '/account/recovery-codes')

/** Asks the browser to create a passkey, and stores it. */
export async function addPasskey(name: string): Promise<FactorAdded> {
  const { options } = await postQuery<Static<typeof PasskeyOptions>>('/account/passkeys/options')
  const { startRegistration } = await import('@simplewebauthn/browser')
  try {
    const response = await startRegistration({
      optionsJSON: options as PublicKeyCredentialCreationOptionsJSON,
    })
    return await change<FactorAdded>('POST', '/account/passkeys', { name, response })
  } catch (error) {
    throw whyNot(error)
  }
}

export const removePasskey = (id: string) => change('DELETE', `/account/passkeys/${encodeURIComponent(id)}`)

export const renamePasskey = (id: string, name: string) =>
  change<Passkey>('PATCH', `/account/passkeys/${encodeURIComponent(id)}`, { name })
