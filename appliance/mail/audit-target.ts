/** What an entry of the audit log is about, by the name that people know. Pure. */
import type { AuditEntry } from './audit.ts'
import { isId } from './ids.ts'

/** Plain data as an object; anything else has no fields. */
export const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** Where the data of an entry has the name of what it is about, by noun. */
const NAME_FIELDS: Record<string, readonly string[]> = {
  domain: ['name'],
  api_key: ['name'],
  webhook: ['endpoint'],
  segment: ['name'],
  topic: ['name'],
  broadcast: ['name'],
  template: ['name'],
  contact_property: ['key'],
  team: ['name'],
  member: ['email'],
  invitation: ['email'],
  identity: ['email'],
  lane: ['source', 'provider_name'],
  provider: ['name'],
}

/** What people call the target, as far as the entry's own data tells: as it was before the act, else as it was made. */
export function targetNameIn({
  target,
  before,
  after,
  details,
}: Pick<AuditEntry, 'target' | 'before' | 'after' | 'details'>): string | null {
  const [noun = '', ...rest] = target.split(' ')
  const wanted = NAME_FIELDS[noun] ?? []
  for (const side of [before, details, after]) {
    const fields = fieldsOf(side)
    const found = wanted.map((name) => fields[name]).filter((one) => typeof one === 'string' && one !== '')
    if (found.length > 0 && found.length === wanted.length) return found.join(' → ')
  }
  // Commands and paths name some things by what they are called, not by an id.
  const named = rest.join(' ')
  return named === '' || isId(named) ? null : named
}
