import type { Session } from '../../../appliance/http/schemas/session.ts'

export type Role = Session['role']

/** The roles in words, the mightiest first. */
export const ROLE_CHOICES: readonly { value: Role; words: string; hint: string }[] = [
  { value: 'owner', words: 'Owner', hint: 'Everything: the name of the team, and who else is an owner.' },
  {
    value: 'admin',
    words: 'Admin',
    hint: 'Also members, how they sign in, the audit log, the queue, erasing data.',
  },
  {
    value: 'developer',
    words: 'Developer',
    hint: 'Sends, and sets up domains, API keys, webhooks, suppressions.',
  },
  { value: 'viewer', words: 'Viewer', hint: 'Sees mail, logs and settings, and changes nothing.' },
]

/** A role as a word. */
export const roleWord = (role: Role): string =>
  ROLE_CHOICES.find(({ value }) => value === role)?.words ?? role

/** Those that somebody may give: only owners make owners. */
export const givable = (own: Role) => ROLE_CHOICES.filter(({ value }) => own === 'owner' || value !== 'owner')
