import type { Registrar } from './registrar.ts'
import { listUsers, resetFactors } from './user-factors.ts'
import { makeResetLink, setUserPassword } from './user-password.ts'

/** `user`: people and how they sign in. */
export function addUsers({ group, add, does, doesTo, doesWith }: Registrar): void {
  const user = group('user', 'Manage user accounts and sign-in')
  add('list', 'List user accounts', user).action(does(listUsers))
  const on = (name: string, description: string) =>
    add(name, description, user).argument('<email>', "The person's email address")
  on('password', "Set a password from standard input and end all of the user's sessions").action(
    doesTo(setUserPassword),
  )
  on('reset-link', 'Print a password reset link').action(doesTo(makeResetLink))
  on('reset-factors', "Remove a user's second steps and end all their sessions")
    .option('--unlink', 'Also unlink accounts at identity providers, in case someone else controls them')
    .action(
      doesWith((context, [email], options: { unlink?: boolean }) => resetFactors(context, email!, options)),
    )
}
