/**
 * Runs one attacker, as a separate process. Its argument is an `Assignment` as JSON. It reports that it is ready,
 * starts when it gets a reply, runs for the given time, and exits if its parent does. It connects to loopback addresses
 * only.
 */
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { ATTACKS } from './catalog.ts'
import { HostileClient } from './hostile.ts'
import type { Target } from './target.ts'

export interface Assignment {
  /** Names of attacks to run at the same time. */
  attacks: string[]
  target: Target
  /** Index of this attacker. */
  number: 0 | 1
  seconds: number
}

/**
 * Nice value of the attacker. Real attackers have their own machines, so the daemon and the customer get a higher
 * priority here.
 */
const PRIORITY = 3

const assignment = JSON.parse(process.argv[2]!) as Assignment
if (!assignment.target.host.startsWith('127.')) throw new Error('Only loopback addresses are attacked.')
setPriority(PRIORITY)
process.once('disconnect', () => process.exit())
process.send!('ready')
await once(process, 'message')
const hostile = new HostileClient(assignment)
await Promise.all(assignment.attacks.map((name) => ATTACKS[name]!.run(hostile)))
hostile.end()
process.disconnect()
process.exit()
