/** All attacks by name. */
import { FLOODS } from './floods.ts'
import type { Hostile } from './hostile.ts'
import { HTTP } from './http.ts'
import { SLOW } from './slow.ts'
import { SMTP } from './smtp.ts'

/** What one attacker does. Two of them do it at once. */
export interface Attack {
  /** For the table. */
  what: string
  /** Returns when the time is over. */
  run(hostile: Hostile): Promise<void>
}

/** Attacks by name. */
export type Family = Record<string, Attack>

export const ATTACKS: Family = { ...HTTP, ...SMTP, ...SLOW, ...FLOODS }
