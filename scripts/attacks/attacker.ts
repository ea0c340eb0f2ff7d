/**
 * One attacker, in a process of its own. Its argument is an `Assignment` as JSON; it goes on until it is told to stop, or its time is
 * over, and ends when its parent does. It talks to loopback addresses only.
 */
import { setPriority } from 'node:os'
import { ATTACKS } from './catalog.ts'
import { Hostile } from './hostile.ts'
import type { Target } from './target.ts'

export interface Assignment {
  /** Names of attacks, all at once. */
  attacks: string[]
  target: Target
  /** Which of the two. */
  number: 0 | 1
  seconds: number
}

/** In reality attackers have machines of their own: here they take what the daemon and the customer leave. */
const PRIORITY = 10

const assignment = JSON.parse(process.argv[2]!) as Assignment
if (!assignment.target.host.startsWith('127.')) throw new Error('Only loopback addresses are attacked.')
setPriority(PRIORITY)
process.once('disconnect', () => process.exit())
const hostile = new Hostile(assignment)
await Promise.all(assignment.attacks.map((name) => ATTACKS[name]!.run(hostile)))
hostile.end()
process.disconnect()
process.exit()
