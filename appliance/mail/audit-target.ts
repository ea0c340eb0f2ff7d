/** Finds the object of an audit log entry by its display name. Pure. */
import type { AuditEntry } from './audit.ts'
import { isId } from './ids.ts'

/** Returns plain data as an object; empty for anything else. */
export const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** Fields of an entry's data that contain the object's name, by noun. */
const NAME_FIELDS: Record<string, readonly string[]> = {
  domain: ['name'],
  api_key: ['name'],
  webhook: ['endpoint'],
  segment: ['name'],
  topic: ['name'],
  event: ['name'],
  form: ['name'],
  automation: ['name'],
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

/** Returns the object's name from the entry's data: before the action, or else after it. */
export function getTargetName({
  target,
  before,
  after,
  details,
}: Pick<AuditEntry, 'target' | 'before' | 'after' | 'details'>): string | null {
  const [noun = '', ...rest] = target.split(' ')
  const wanted = NAME_FIELDS[noun] ?? []
  for (const side of [before, details, after]) {
    const fields = asObject(side)
    const found = wanted.map((name) => fields[name]).filter((one) => typeof one === 'string' && one !== '')
    if (found.length > 0 && found.length === wanted.length) return found.join(' → ')
  }
  // Commands and paths identify some objects by name instead of an id.
  const named = rest.join(' ')
  return named === '' || isId(named) ? null : named
}
