/**
 * One attacker, in a process of its own. Its argument is an `Assignment` as JSON. It says that it is ready, begins when it is answered,
 * goes on until its time is over, and ends when its parent does. It talks to loopback addresses only.
 */
import { once } from 'node:events'
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

/** In reality attackers have machines of their own: here the daemon and the customer go first. */
const PRIORITY = 3

const assignment = JSON.parse(process.argv[2]!) as Assignment
if (!assignment.target.host.startsWith('127.')) throw new Error('Only loopback addresses are attacked.')
setPriority(PRIORITY)
process.once('disconnect', () => process.exit())
process.send!('ready')
await once(process, 'message')
const hostile = new Hostile(assignment)
await Promise.all(assignment.attacks.map((name) => ATTACKS[name]!.run(hostile)))
hostile.end()
process.disconnect()
process.exit()
