/** Formats audit log entries. Pure. */
import Check from '@lucide/svelte/icons/check'
import CircleQuestionMark from '@lucide/svelte/icons/circle-question-mark'
import X from '@lucide/svelte/icons/x'
import type { AuditEntry } from '../../../appliance/api/audit.ts'
import type { AuditAction } from '../../../appliance/mail/audit.ts'
import type { StatusBadge } from './status.ts'
import type { Suggestion } from './suggestions.ts'

/** A value before and after a change; undefined where there is none. */
export interface Change {
  /** Path of the value, such as `capabilities.sending`. */
  name: string
  before: string | undefined
  after: string | undefined
  changed: boolean
}

/**
 * Returns all values before and after the change. Changed values come first, otherwise they are in the recorded order.
 */
export function listChanges({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Change[] {
  const [left, right] = [flatten(before), flatten(after)]
  const names = [...new Set([...left.keys(), ...right.keys()])]
  const all = names.map((name) => {
    const [was, is] = [left.get(name), right.get(name)]
    return { name, before: was, after: is, changed: was !== is }
  })
  return [...all.filter(({ changed }) => changed), ...all.filter(({ changed }) => !changed)]
}

/** Flattens JSON into names and values: `{"a": {"b": 1}}` becomes `a.b` and `1`. */
export function flatten(value: unknown, name = ''): Map<string, string> {
  if (value === null || value === undefined)
    return name === '' ? new Map<string, string>() : new Map([[name, 'none']])
  if (typeof value !== 'object')
    return new Map([[name, typeof value === 'string' ? value : JSON.stringify(value)]])
  const entries = Object.entries(value)
  if (entries.length === 0) return name === '' ? new Map<string, string>() : new Map([[name, 'empty']])
  return new Map(entries.flatMap(([key, one]) => [...flatten(one, name === '' ? key : `${name}.${key}`)]))
}

type Noun<Action = AuditAction> = Action extends `${infer N}.${string}` ? N : never

/** Types of audit targets, in the order of the filter. */
const KINDS: Record<Noun, string> = {
  session: 'Sign-ins',
  account: 'Accounts and two-step sign-in',
  user: 'Users',
  member: 'Members',
  invitation: 'Invitations',
  identity: 'Identity providers',
  team: 'Team',
  api_key: 'API keys',
  domain: 'Domains',
  webhook: 'Webhooks',
  contact: 'Contacts',
  segment: 'Segments',
  topic: 'Topics',
  form: 'Sign-up forms',
  event: 'Custom events',
  automation: 'Automations',
  broadcast: 'Broadcasts',
  archive: 'Public archive',
  template: 'Templates',
  contact_property: 'Contact properties',
  unsubscribe_page: 'Unsubscribe page',
  image: 'Images',
  suppression: 'Suppressions',
  email: 'Shared emails',
  erasure: 'Erasures',
  queue: 'Queue',
  lane: 'Lanes',
  provider: 'Providers',
  source: 'Sending IPs',
  pool: 'Pools',
  pool_assignment: 'Pools',
  node: 'Nodes',
  region: 'Regions',
  certificate: 'Certificates',
  backup: 'Backups',
  secrets: 'Secrets',
  storage: 'Storage moves',
  import: 'Imports',
  metrics: 'Metrics',
}
export const AUDIT_KINDS: readonly Suggestion[] = Object.entries(KINDS)

/** Labels of outcomes. */
export const OUTCOME_BADGES: Record<AuditEntry['outcome'], StatusBadge> = {
  done: { word: 'done', tone: 'green', icon: Check },
  refused: { word: 'refused', tone: 'red', icon: X },
  unknown: { word: 'outcome unknown', tone: 'amber', icon: CircleQuestionMark },
}

/** Labels of actor types. */
export const ACTOR_LABELS: Record<AuditEntry['actor_kind'], string> = {
  user: 'in the dashboard',
  api_key: 'with an API key',
  command: 'on the command line',
  system: 'automatically',
}
