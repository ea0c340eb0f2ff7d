/** The text of mail that the server sends to people about their own account. Pure. */
import type { Notice } from '../intake/intake.ts'
import type { Invitation } from '../storage/storage.ts'

const FIRST_PROOF =
  'This email address had not been confirmed before. In case someone else created the account, linked accounts at identity ' +
  'providers were unlinked, and passkeys now work only together with the password. Link your accounts and add your passkeys again.'

/** A password reset link. */
export function createPasswordResetNotice(
  to: string,
  url: string,
  { minutes, hostname }: { minutes: number; hostname: string },
): Notice {
  return {
    kind: 'password_reset',
    to,
    subject: 'Reset your Posthaste password',
    paragraphs: [
      `Someone, probably you, requested a password reset for your account ${to} on ${hostname}.`,
      'To set a new password, use this link:',
    ],
    action: { label: 'Set a new password', url },
    after: [
      `The link expires in ${minutes} minutes and works once. Setting a new password signs you out everywhere.`,
      'If you did not request this, ignore this email. Your password stays the same.',
    ],
  }
}

/**
 * Notifies a person that their password was changed, in case someone else did it.
 * @param proven whether the link was from a mail, and its use was the first proof that the person owns the address
 */
export function createPasswordChangedNotice(to: string, hostname: string, proven = false): Notice {
  return {
    kind: 'password_changed',
    to,
    subject: 'Your Posthaste password was changed',
    paragraphs: [
      `The password of your account ${to} on ${hostname} was changed.`,
      'All other sessions of your account were signed out.',
      ...(proven ? [FIRST_PROOF] : []),
    ],
    action: null,
    after: [
      'If you did not do this, reset your password on the sign-in page right away, and tell the operator of this server.',
    ],
  }
}

/** An invitation link. The team's name is untrusted, so it is quoted. */
export function createInvitationNotice(
  { email, role, teamName }: Pick<Invitation, 'email' | 'role' | 'teamName'>,
  { link, inviter, hostname }: { link: string; inviter: string; hostname: string },
): Notice {
  return {
    kind: 'invitation',
    to: email,
    subject: "You're invited to join a team on Posthaste",
    paragraphs: [
      `${inviter} invited you (${email}) to join the team "${teamName}" on ${hostname} with the role ${role}.`,
    ],
    action: { label: 'Accept invitation', url: link },
    after: [
      'The link expires in 7 days and works once.',
      'If you did not expect this invitation, you can ignore this email.',
    ],
  }
}
