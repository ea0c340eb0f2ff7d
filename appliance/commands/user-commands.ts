import type { Registrar } from './registrar.ts'
import { listUsers, resetFactors } from './user-factors.ts'
import { makeResetLink, setUserPassword } from './user-password.ts'

/** `user`: people and how they sign in. */
export function addUsers({ group, add, does, doesTo, doesWith }: Registrar): void {
  const user = group('user', 'people and how they sign in')
  add('list', 'list everybody who can sign in', user).action(does(listUsers))
  const on = (name: string, description: string) =>
    add(name, description, user).argument('<email>', "the person's address")
  on('password', 'set a password, from standard input; all sessions of the person end').action(
    doesTo(setUserPassword),
  )
  on('reset-link', 'print a link with which the person chooses a new password').action(doesTo(makeResetLink))
  on('reset-factors', 'take all second factors away from somebody who has lost them; all sessions end')
    .option('--unlink', 'the linked accounts at identity providers too: somebody else may have them')
    .action(
      doesWith((context, [email], options: { unlink?: boolean }) => resetFactors(context, email!, options)),
    )
}
