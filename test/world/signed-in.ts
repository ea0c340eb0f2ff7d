import type { SignInResult } from '../../appliance/accounts/accounts.ts'

/** The session that a sign-in in one step began; throws when there was none. */
export function sessionOf(result: SignInResult | undefined): { token: string; expiresAt: number } {
  if (result?.kind !== 'session') throw new Error(`expected a session, got ${JSON.stringify(result)}`)
  return { token: result.token, expiresAt: result.expiresAt }
}
