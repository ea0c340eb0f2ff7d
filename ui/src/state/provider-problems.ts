import type { ProviderProblemCode } from '../../../appliance/api/identities.ts'

/** Messages for people whom an identity provider sent back without a sign-in. `%` is the provider's name. */
const WORDS: Record<ProviderProblemCode, string> = {
  denied: 'You didn’t approve the request at %, so nothing changed.',
  unreachable: '% isn’t responding. Try again in a minute, or sign in another way.',
  misconfigured:
    '% rejected this server because of a configuration problem. Tell the server’s operator; the log has details.',
  invalid: 'The response from % was invalid. Try again.',
  unverified: '% doesn’t confirm that your email address is verified. Verify it there, then try again.',
  domain: 'The domain of your % address isn’t allowed here. Use another account.',
  not_linked:
    'An account with your address exists, but it isn’t linked to %. Sign in as usual and link it in “Your account”.',
  unproven:
    'An account with your address exists, but its address isn’t verified. If it’s yours, sign in and link % in “Your account”. Otherwise, claim it with “Forgot your password?”.',
  unknown: 'No account here matches your % account. Ask for an invitation to the address you use there.',
  expired: 'The sign-in timed out, or it was started in another browser or tab. Try again.',
  taken: 'That % account is already linked to another person’s account here. They must unlink it first.',
  signed_out: 'Your session ended before the account was linked. Sign in and try again.',
  no_team: 'You’re no longer a member of any team here. Ask for an invitation.',
}

/** Returns the message for the `problem` code in the address; null for an unknown code. */
export function getProviderProblemMessage(code: string | null, provider: string): string | null {
  if (code === null || !Object.hasOwn(WORDS, code)) return null
  return WORDS[code as ProviderProblemCode].replaceAll('%', provider)
}
