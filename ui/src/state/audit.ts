/** What an entry of the audit log says, ready to be read. Pure. */
import type { AuditEntry } from '../../../appliance/http/schemas/audit.ts'

/** A value before and after an act; undefined where there was none. */
export interface Change {
  /** `capabilities.sending` */
  name: string
  before: string | undefined
  after: string | undefined
  changed: boolean
}

/** All values of both sides, the changed ones first, each in the order in which it was written. */
export function changesOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Change[] {
  const [left, right] = [flat(before), flat(after)]
  const names = [...new Set([...left.keys(), ...right.keys()])]
  const all = names.map((name) => {
    const [was, is] = [left.get(name), right.get(name)]
    return { name, before: was, after: is, changed: was !== is }
  })
  return [...all.filter(({ changed }) => changed), ...all.filter(({ changed }) => !changed)]
}

/** Plain data as names and values: `{"a": {"b": 1}}` is `a.b` and `1`. */
export function flat(value: unknown, name = ''): Map<string, string> {
  if (value === null || value === undefined)
    return name === '' ? new Map<string, string>() : new Map([[name, 'none']])
  if (typeof value !== 'object')
    return new Map([[name, typeof value === 'string' ? value : JSON.stringify(value)]])
  const entries = Object.entries(value)
  if (entries.length === 0) return name === '' ? new Map<string, string>() : new Map([[name, 'empty']])
  return new Map(entries.flatMap(([key, one]) => [...flat(one, name === '' ? key : `${name}.${key}`)]))
}

/** `domain.rotate_dkim` in words: `domain: rotate dkim`. */
export function actionWords(action: string): string {
  const [noun = '', verb = ''] = action.split('.')
  return `${noun.replaceAll('_', ' ')}: ${verb.replaceAll('_', ' ')}`
}

/** `api_key 0190…` in words: `api key 0190…`. What comes after the noun stays as it is. */
export function targetWords(target: string): string {
  const [noun = ''] = target.split(' ', 1)
  return noun.replaceAll('_', ' ') + target.slice(noun.length)
}

/** How it ended, in words. */
export const OUTCOME_WORDS: Record<AuditEntry['outcome'], string> = {
  done: 'done',
  refused: 'refused',
  unknown: 'not known whether it came to its end',
}

/** Who acted, by what. */
export const ACTOR_WORDS: Record<AuditEntry['actor_kind'], string> = {
  user: 'in the dashboard',
  api_key: 'with an API key',
  command: 'at the command line',
  system: 'by itself',
}
