/** People and their second factors by the command line: for whoever is locked out. */
import { timestamp } from '../wireformat/wireformat.ts'
import { Failure, type Context } from './context.ts'
import { instant, paragraph, table } from './output.ts'

/** `user list`: everybody who can sign in. */
export async function listUsers({ storage, clock, output }: Context): Promise<void> {
  const users = await storage.listUsers({}, clock.now())
  const data = users.map(({ id, email, createdAt, hasSecondFactor }) => ({
    ...{ object: 'user' as const, id, email, has_second_factor: hasSecondFactor },
    created_at: timestamp(createdAt),
  }))
  output.object({ object: 'list', has_more: false, data })
  if (users.length === 0) return output.text('There is nobody yet. First run: posthaste setup')
  const rows = users.map((user) => [user.email, user.hasSecondFactor ? 'yes' : 'no', instant(user.createdAt)])
  output.text(...table(['ADDRESS', 'SECOND FACTOR', 'SINCE'], rows))
}

/** `user reset-factors`: without a second factor the account opens again; with `--unlink` by no identity provider. */
export async function resetFactors(
  { accounts, output }: Context,
  email: string,
  { unlink = false }: { unlink?: boolean },
): Promise<void> {
  const done = await accounts.factors.reset({ email: email.trim().normalize('NFC'), unlink })
  if (!done) throw new Failure(`Nobody has an account with the address ${email}.`)
  const { user, had } = done
  const { totp, passkeys, recoveryCodes } = had
  const identities = had.identities.map(({ id, provider, email: there }) => ({ id, provider, email: there }))
  const removed = { totp, passkeys, recovery_codes: recoveryCodes, identities: unlink ? identities : [] }
  const linked = unlink ? [] : identities
  output.object({ object: 'user', id: user.id, email: user.email, removed, identities: linked })
  const count = (of: number, one: string): string[] =>
    of === 0 ? [] : [`${of} ${of === 1 ? one : `${one}s`}`]
  const gone = [
    ...(totp ? ['an app for codes'] : []),
    ...count(passkeys, 'passkey'),
    ...count(recoveryCodes, 'recovery code'),
    ...removed.identities.map(named),
  ]
  const sentence =
    gone.length === 0 ? 'had no second factor' : `had ${gone.join(', ')}: they open nothing any more`
  output.text(...paragraph(`${user.email} ${sentence}. All sessions of the account have ended.`))
  for (const line of whatOpens(user, linked)) output.text(...paragraph(line))
}

interface Linked {
  provider: string
  email: string
}

const named = ({ provider, email }: Linked): string => `the account ${email} at ${provider}`

/** What the account opens with now, and what to do where that may be in wrong hands. */
function whatOpens(
  { email, passwordHash }: { email: string; passwordHash: string | null },
  linked: Linked[],
) {
  const accounts = linked.map(named).join(', ')
  const alone = 'alone is enough until a new factor is set up.'
  const password =
    passwordHash === null
      ? `There is no password. A link to choose one: posthaste user reset-link ${email}`
      : `The password ${alone}`
  if (linked.length === 0) return [password]
  const still = `Still linked: ${accounts}. ${linked.length === 1 ? 'It opens' : 'They open'} the account, too.`
  const remedy = `If somebody else may have ${linked.length === 1 ? 'it' : 'one'}: posthaste user reset-factors ${email} --unlink`
  return [password, still, remedy]
}
