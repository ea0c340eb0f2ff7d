/** All attacks by name. */
import { setTimeout as pause } from 'node:timers/promises'
import { FLOODS } from './floods.ts'
import type { Hostile } from './hostile.ts'
import { HTTP } from './http.ts'
import { MX } from './mx.ts'
import { SLOW } from './slow.ts'
import { SMTP } from './smtp.ts'

/** An attack. Two attackers run it at the same time. */
export interface Attack {
  /** Description for the table. */
  what: string
  /** Returns when the time is over. */
  run(hostile: Hostile): Promise<void>
}

/** Attacks by name. */
export type Family = Record<string, Attack>

const CALM: Family = {
  calm: {
    what: 'Nothing, to see what else the machine does',
    run: async (hostile) => void (await pause(hostile.left)),
  },
}

export const ATTACKS: Family = { ...CALM, ...HTTP, ...SMTP, ...MX, ...SLOW, ...FLOODS }
