/** Roles in a team and their rights, for the dashboard and the API. */

/** Roles of a member, the most powerful first. */
export const ROLES = ['owner', 'admin', 'developer', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/**
 * Each right, and the lowest role that has it.
 *
 * view: read mail, logs, metrics, settings · send: send, cancel, reschedule, share · configure: domains, webhooks,
 * suppressions · keys: API keys · operate: the server's queue, sending IPs and lanes · export: all contacts as a file ·
 * erase: a person's data, retention ·
 * members: invitations and roles · security: sign-in rules of the team, the audit log · team: its name, its deletion,
 * its owners
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
export function hasRight(role: Role, right: Right): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(LEAST_ROLE[right])
}

/** Returns the rights of a role. */
export function listRights(role: Role): Right[] {
  return RIGHTS.filter((right) => hasRight(role, right))
}

/** Returns the lowest role with a right, for the sentence of a refusal. */
export function findLowestRole(right: Right): Role {
  return LEAST_ROLE[right]
}
