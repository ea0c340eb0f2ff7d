import type { ProviderProblemCode } from '../../../appliance/http/schemas/identities.ts'

/** What to tell somebody who comes back from an identity provider with nothing, and what to do. `%`: the provider's name. */
const WORDS: Record<ProviderProblemCode, string> = {
  denied: 'You did not agree at %, so nothing was done.',
  unreachable: '% does not answer at the moment. Try again in a minute, or sign in another way.',
  misconfigured:
    '% does not accept this server: it is not set up right. Tell whoever runs it; its log says more.',
  invalid: 'The answer of % did not fit the question. Try again.',
  unverified: '% does not say that your email address is verified. Verify it there, then try again.',
  domain: 'Your address at % is of a domain that may not enter here. Take another account.',
  not_linked:
    'There is an account with your address, but it is not linked with %. Sign in as usual and link it in “Your account”.',
  unproven:
    'There is an account with your address, but nobody has shown yet that the address is theirs. If the account is yours, sign in as usual and link % in “Your account”. Else choose “Forgot your password?”: the link in the mail makes it yours alone.',
  unknown: 'Nobody here knows your account at %. Ask for an invitation to the address that you have there.',
  expired: 'That took too long, or was begun in another browser or tab. Try again.',
  taken: 'That account at % is linked with another person here. It has to be unlinked there first.',
  signed_out: 'Your session ended in the meantime, so nothing was linked. Sign in and try again.',
  no_team: 'You are a member of no team here any more. Ask for an invitation.',
}

/** The sentence for a `problem` of the address bar; null for what is none. */
export function providerProblem(code: string | null, provider: string): string | null {
  if (code === null || !Object.hasOwn(WORDS, code)) return null
  return WORDS[code as ProviderProblemCode].replaceAll('%', provider)
}
