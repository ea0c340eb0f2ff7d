import type { Session } from '../../../appliance/api/session.ts'

export type Role = Session['role']

/** Roles with labels, from the most to the fewest rights. */
export const ROLE_CHOICES: readonly { value: Role; words: string; hint: string }[] = [
  {
    value: 'owner',
    words: 'Owner',
    hint: 'Can do everything, including renaming the team and managing owners.',
  },
  {
    value: 'admin',
    words: 'Admin',
    hint: 'Everything a developer can do, plus members, sign-in rules, the audit log, the queue and data erasure.',
  },
  {
    value: 'developer',
    words: 'Developer',
    hint: 'Can send emails and manage domains, API keys, webhooks and suppressions.',
  },
  { value: 'viewer', words: 'Viewer', hint: 'Can view mail, logs and settings, but can’t change anything.' },
]

/** Returns the label of a role. */
export const getRoleLabel = (role: Role): string =>
  ROLE_CHOICES.find(({ value }) => value === role)?.words ?? role

/** Returns the roles that a person may assign: only owners can create owners. */
export const listAssignableRoles = (own: Role) =>
  ROLE_CHOICES.filter(({ value }) => own === 'owner' || value !== 'owner')
