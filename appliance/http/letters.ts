/** The words of what the appliance writes to people about their own account. Pure. */
import type { Notice } from '../intake/intake.ts'
import type { Invitation } from '../storage/storage.ts'

const FIRST_PROOF =
  'Nobody had shown before that this address is theirs. In case somebody else made the account, linked accounts at identity ' +
  'providers were unlinked, and passkeys open it only together with the password. Link and add anew what is yours.'

/** The link that sets a new password. */
export function passwordReset(
  to: string,
  url: string,
  { minutes, hostname }: { minutes: number; hostname: string },
): Notice {
  return {
    kind: 'password_reset',
    to,
    subject: 'Set a new password for Posthaste',
    paragraphs: [
      `Somebody, probably you, asked for a new password for your account ${to} at ${hostname}.`,
      'With this link you choose one:',
    ],
    action: { label: 'Choose a new password', url },
    after: [
      `The link is good for ${minutes} minutes and works once. You are then signed out everywhere.`,
      'If it was not you, do nothing: without the link nothing changes.',
    ],
  }
}

/**
 * Whoever did not change it wants to know.
 * @param proven it was changed by a link in a mail, which was the first proof that the address is theirs
 */
export function passwordChanged(to: string, hostname: string, proven = false): Notice {
  return {
    kind: 'password_changed',
    to,
    subject: 'Your password for Posthaste was changed',
    paragraphs: [
      `The password of your account ${to} at ${hostname} was changed.`,
      'All other sessions of your account have ended.',
      ...(proven ? [FIRST_PROOF] : []),
    ],
    action: null,
    after: [
      'If it was not you, ask for a new password on the sign-in page at once, and tell whoever runs this server.',
    ],
  }
}

/** The link with which somebody joins a team. The team's name is somebody else's words: it stands in quotes. */
export function invitation(
  { email, role, teamName }: Pick<Invitation, 'email' | 'role' | 'teamName'>,
  { link, inviter, hostname }: { link: string; inviter: string; hostname: string },
): Notice {
  return {
    kind: 'invitation',
    to: email,
    subject: 'You are invited to a team at Posthaste',
    paragraphs: [
      `${inviter} invites you (${email}) to the team "${teamName}" at ${hostname}, with the role ${role}.`,
    ],
    action: { label: 'Accept the invitation', url: link },
    after: [
      'The link is good for 7 days and works once.',
      'If you do not know what this is about, do nothing: without the link nothing happens.',
    ],
  }
}
