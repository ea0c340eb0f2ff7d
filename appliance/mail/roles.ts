/** Who may do what in a team: the one table, for people in the dashboard and through the API alike. */

/** What a member of a team is, the mightiest first. */
export const ROLES = ['owner', 'admin', 'developer', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/**
 * What a role allows, and from which role on.
 *
 * view: read mail, logs, metrics, settings · send: send, cancel, reschedule, share · configure: domains, webhooks,
 * suppressions · keys: API keys · operate: the queue, addresses, lanes of the appliance · export: all contacts in a file ·
 * erase: a person's data, retention ·
 * members: invitations and roles · security: the team's rules for signing in, the audit log · team: its name, its end, its owners
 */
const LEAST_ROLE = {
  view: 'viewer',
  send: 'developer',
  configure: 'developer',
  keys: 'developer',
  operate: 'admin',
  export: 'admin',
  erase: 'admin',
  members: 'admin',
  security: 'admin',
  team: 'owner',
} as const satisfies Record<string, Role>

export type Right = keyof typeof LEAST_ROLE

/** All rights, in the order of the table. */
export const RIGHTS = Object.keys(LEAST_ROLE) as Right[]

/** Whether a role includes a right. */
export function may(role: Role, right: Right): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(LEAST_ROLE[right])
}

/** What a role may do. */
export function rightsOf(role: Role): Right[] {
  return RIGHTS.filter((right) => may(role, right))
}

/** The least role that has a right: for the sentence of a refusal. */
export function leastRole(right: Right): Role {
  return LEAST_ROLE[right]
}
