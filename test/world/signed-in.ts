import type { SignInResult } from '../../appliance/accounts/accounts.ts'

/** Returns the session of a one-step sign-in; throws if there is none. */
export function sessionOf(result: SignInResult | undefined): { token: string; expiresAt: number } {
  if (result?.kind !== 'session') throw new Error(`expected a session, got ${JSON.stringify(result)}`)
  return { token: result.token, expiresAt: result.expiresAt }
}
