/** All attacks by name. */
import { setTimeout as pause } from 'node:timers/promises'
import { FLOOD_ATTACKS } from './floods.ts'
import type { HostileClient } from './hostile.ts'
import { HTTP_ATTACKS } from './http.ts'
import { MX_ATTACKS } from './mx.ts'
import { SLOW_ATTACKS } from './slow.ts'
import { SMTP_ATTACKS } from './smtp.ts'

/** An attack. Two attackers run it at the same time. */
export interface Attack {
  /** Description for the table. */
  what: string
  /** Resolves when the time is over. */
  run(hostile: HostileClient): Promise<void>
}

/** Attacks by name. */
export type AttackSet = Record<string, Attack>

const CALM_ATTACKS: AttackSet = {
  calm: {
    what: 'Nothing, to see what else the machine does',
    run: async (hostile) => void (await pause(hostile.left)),
  },
}

export const ATTACKS: AttackSet = {
  ...CALM_ATTACKS,
  ...HTTP_ATTACKS,
  ...SMTP_ATTACKS,
  ...MX_ATTACKS,
  ...SLOW_ATTACKS,
  ...FLOOD_ATTACKS,
}
