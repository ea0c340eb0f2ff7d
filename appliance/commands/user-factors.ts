/** Commands about people and their second factors, for people who are locked out. */
import { presentList } from '../api/shared.ts'
import { timestamp } from '../api/timestamp.ts'
import { Failure, type Context } from './context.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'
import { createResetLink, setUserPassword } from './user-password.ts'

/** `user list`: prints everyone who can sign in. */
async function listUsers({ storage, clock, output }: Context): Promise<void> {
  const users = await storage.listUsers({}, clock.now())
  const data = users.map(({ id, email, createdAt, hasSecondFactor }) => ({
    object: 'user' as const,
    id,
    email,
    has_second_factor: hasSecondFactor,
    created_at: timestamp(createdAt),
  }))
  output.object(presentList(data))
  if (users.length === 0) return output.text('There are no users yet. First run: posthaste setup')
  const rows = users.map((user) => [
    user.email,
    user.hasSecondFactor ? 'yes' : 'no',
    formatInstant(user.createdAt),
  ])
  output.text(...formatTable(['ADDRESS', 'TWO-STEP SIGN-IN', 'SINCE'], rows))
}

/** `user reset-factors`: removes the second factors of an account; with `--unlink`, also its identity providers. */
async function resetFactors(
  { accounts, output }: Context,
  email: string,
  { unlink = false }: { unlink?: boolean },
): Promise<void> {
  const done = await accounts.factors.reset({ email: email.trim().normalize('NFC'), unlink })
  if (!done) throw new Failure(`There is no account with the address ${email}.`)
  const { user, had } = done
  const { totp, passkeys, recoveryCodes } = had
  const identities = had.identities.map(({ id, provider, email: there }) => ({ id, provider, email: there }))
  const removed = { totp, passkeys, recovery_codes: recoveryCodes, identities: unlink ? identities : [] }
  const linked = unlink ? [] : identities
  output.object({ object: 'user', id: user.id, email: user.email, removed, identities: linked })
  const count = (of: number, one: string): string[] =>
    of === 0 ? [] : [`${of} ${of === 1 ? one : `${one}s`}`]
  const gone = [
    ...(totp ? ['an authenticator app'] : []),
    ...count(passkeys, 'passkey'),
    ...count(recoveryCodes, 'recovery code'),
    ...removed.identities.map(named),
  ]
  const sentence = gone.length === 0 ? 'had no second step' : `can no longer use ${gone.join(', ')}`
  output.text(...wrapParagraph(`${user.email} ${sentence}. All sessions of the account were ended.`))
  for (const line of whatOpens(user, linked)) output.text(...wrapParagraph(line))
}

interface Linked {
  provider: string
  email: string
}

const named = ({ provider, email }: Linked): string => `the account ${email} at ${provider}`

/** Returns lines that explain how to sign in to the account now, and what to do if it may be compromised. */
function whatOpens(
  { email, passwordHash }: { email: string; passwordHash: string | null },
  linked: Linked[],
) {
  const accounts = linked.map(named).join(', ')
  const alone = 'alone is enough to sign in until a second step is set up.'
  const password =
    passwordHash === null
      ? `The account has no password. To create a link to set one, run: posthaste user reset-link ${email}`
      : `The password ${alone}`
  if (linked.length === 0) return [password]
  const still = `Still linked: ${accounts}. ${linked.length === 1 ? 'It can' : 'They can'} also be used to sign in.`
  const remedy = `If someone else may control ${linked.length === 1 ? 'it' : 'one of them'}, run: posthaste user reset-factors ${email} --unlink`
  return [password, still, remedy]
}

/** Registers `user`. */
export function registerUserCommands({ group, add, does, doesTo, doesWith }: Registrar): void {
  const user = group('user', 'Manage user accounts and sign-in')
  add('list', 'List user accounts', user).action(does(listUsers))
  const on = (name: string, description: string) =>
    add(name, description, user).argument('<email>', "The person's email address")
  on('password', "Set a password from standard input and end all of the user's sessions").action(
    doesTo(setUserPassword),
  )
  on('reset-link', 'Print a password reset link').action(doesTo(createResetLink))
  on('reset-factors', "Remove a user's second steps and end all their sessions")
    .option('--unlink', 'Also unlink accounts at identity providers, in case someone else controls them')
    .action(
      doesWith((context, [email], options: { unlink?: boolean }) => resetFactors(context, email!, options)),
    )
}
