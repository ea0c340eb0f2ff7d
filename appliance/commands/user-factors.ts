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

/** `user reset-factors`: the password alone opens the account again. */
export async function resetFactors({ accounts, output }: Context, email: string): Promise<void> {
  const done = await accounts.factors.reset({ email: email.trim().normalize('NFC') })
  if (!done) throw new Failure(`Nobody has an account with the address ${email}.`)
  const { user, had } = done
  const { totp, passkeys, recoveryCodes } = had
  const removed = { totp, passkeys, recovery_codes: recoveryCodes }
  output.object({ object: 'user', id: user.id, email: user.email, removed })
  const count = (of: number, one: string): string[] =>
    of === 0 ? [] : [`${of} ${of === 1 ? one : `${one}s`}`]
  const gone = [
    ...(totp ? ['an app for codes'] : []),
    ...count(passkeys, 'passkey'),
    ...count(recoveryCodes, 'recovery code'),
  ]
  const sentence =
    gone.length === 0 ? 'had no second factor' : `had ${gone.join(', ')}: they open nothing any more`
  output.text(
    ...paragraph(
      `${user.email} ${sentence}. All sessions of the account have ended. The password alone is enough until a new factor is set up.`,
    ),
  )
}
