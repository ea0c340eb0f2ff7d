/** Resets passwords on the command line, for people without access to their mail and owners who are locked out. */
import { Failure, type Context } from './context.ts'
import { formatInstant, wrapParagraph } from './output.ts'
import { readNewPassword } from './password-input.ts'
import { dashboardOrigin } from './set-up-link.ts'

/** Finds the person with that address. */
async function find({ storage, clock }: Context, email: string) {
  const user = await storage.findUser({ email: email.trim().normalize('NFC') }, clock.now())
  if (!user) throw new Failure(`There is no account with the address ${email}.`)
  return user
}

/** `user password`: reads a new password from standard input and ends all sessions of the person. */
export async function setUserPassword(context: Context, email: string): Promise<void> {
  const { accounts, output } = context
  // Checked before prompting for a password.
  const user = await find(context, email)
  await accounts.setPassword({ userId: user.id, password: await readNewPassword() })
  output.object({ object: 'user', id: user.id, email: user.email })
  output.text(
    ...wrapParagraph(
      `Set the password of ${user.email} and ended all sessions of the account. Its second steps are unchanged.`,
    ),
  )
}

/** `user reset-link`: prints a link for choosing a new password. */
export async function createResetLink(context: Context, email: string): Promise<void> {
  const { accounts, output, config } = context
  const link = await accounts.beginReset({ email, byMail: false })
  if (!link) throw new Failure(`There is no account with the address ${email}.`)
  const origin = dashboardOrigin(config)
  const url = `${origin}/dashboard/reset#${link.token}`
  const expires = new Date(link.expiresAt).toISOString()
  output.object({ object: 'reset_link', id: link.user.id, email: link.user.email, url, expires_at: expires })
  output.text(
    url,
    '',
    ...wrapParagraph(
      `Password reset link for ${link.user.email}. It works once and expires at ${formatInstant(link.expiresAt)} UTC. Anyone with the link can set the password, so send it over a private channel.`,
    ),
  )
}
