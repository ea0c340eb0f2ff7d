/** Runs attacks against a daemon of their own, with the normal client beside, and judges what it saw. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../benches/measured.ts'
import type { Assignment } from './attacker.ts'
import { startCustomer, type Record } from './customer.ts'
import { descriptorsOf, memoryOf } from './gauges.ts'
import { startTarget, type RunningTarget } from './target.ts'

/** What was seen during an attack. */
export interface Outcome {
  name: string
  /** Requests and messages of the normal client. */
  asked: number
  /** The share of them that was accepted, 0 to 1. */
  accepted: number
  /** Milliseconds of accepted ones. */
  p50: number
  p99: number
  /** Highest resident memory of the daemon, in bytes. */
  memory: number
  /** Open descriptors of the daemon before the attack, the most during it, and those left up to `FREE_MS` after its end. */
  descriptors: { before: number; most: number; after: number }
  /** The longest turn of the event loop, in milliseconds of processor time. */
  longestTurn: number
  /** Goals that were missed, in words; latency apart, because a busy machine misses it too. */
  missed: string[]
  late: boolean
  /** Why requests and messages were not accepted, with how often. */
  failures: Record['failures']
}

/** The goals. */
const LEAST_ACCEPTED = 0.99
const MOST_P99 = 1000
const MOST_MEMORY = 1e9
/** Within this time after the attack its descriptors must be free (milliseconds). */
const FREE_MS = 5000
/** Descriptors that come and go without any attack: worker threads, and connections to mail exchangers. */
const OWN_DESCRIPTORS = 40
/** The normal client sends for so long before (milliseconds): a daemon is not attacked in its first second. */
const WARM_UP_MS = 2000
/** Attackers that have not ended by themselves are killed then (milliseconds after the attack's time). */
const GRACE_MS = 3000
const LOOK_MS = 200

export interface RunOptions {
  name: string
  /** Names of attacks, all at once. */
  attacks: string[]
  seconds: number
  /** After so many milliseconds without an answer the normal client gives up. */
  patience: number
}

/** Runs attacks. Rejects when they cannot be begun. */
export async function runAttacks({ name, attacks, seconds, patience }: RunOptions): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-attack-'))
  const tidy = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', tidy)
  try {
    await using running = await startTarget({ folder, forFuzzing: false })
    const { target, pid } = running
    const before = startCustomer(target, patience)
    await pause(WARM_UP_MS)
    await before.finish()
    running.longestTurn()
    const attackers = await Promise.all(
      ([0, 1] as const).map((number) => startAttacker({ attacks, target, number, seconds })),
    )
    const descriptors = { before: descriptorsOf(pid), most: 0, after: 0 }
    const look = setInterval(() => {
      descriptors.most = Math.max(descriptors.most, descriptorsOf(pid))
    }, LOOK_MS)
    const customer = startCustomer(target, patience)
    await attack(attackers, seconds)
    clearInterval(look)
    const freed = performance.now() + FREE_MS
    await customer.finish()
    // The customer's own connections end with it.
    do {
      await pause(100)
      descriptors.after = descriptorsOf(pid)
    } while (descriptors.after > descriptors.before + OWN_DESCRIPTORS && performance.now() < freed)
    return judge(name, customer.record, running, descriptors)
  } finally {
    process.off('exit', tidy)
    tidy()
  }
}

/** Lets the attackers begin; resolves when they have ended. */
async function attack(attackers: ChildProcess[], seconds: number): Promise<void> {
  const ends = attackers.map((child) => once(child, 'exit') as Promise<[number | null]>)
  for (const child of attackers) child.send('go')
  const cut = setTimeout(() => attackers.forEach((child) => child.kill('SIGKILL')), seconds * 1000 + GRACE_MS)
  const codes = await Promise.all(ends)
  clearTimeout(cut)
  if (codes.some(([code]) => code !== 0 && code !== null)) throw new Error('An attacker failed; see above.')
}

/** Resolves when it is ready to begin. */
async function startAttacker(assignment: Assignment): Promise<ChildProcess> {
  const program = join(import.meta.dirname, 'attacker.ts')
  const child = spawn(process.execPath, [program, JSON.stringify(assignment)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await Promise.race([once(child, 'message'), once(child, 'exit')])
  if (child.exitCode !== null) throw new Error('An attacker did not start; see above.')
  return child
}

function judge(
  name: string,
  record: Record,
  running: RunningTarget,
  descriptors: Outcome['descriptors'],
): Outcome {
  const { asked, accepted, times, failures } = record
  const { pid } = running
  const outcome: Outcome = {
    name,
    asked,
    accepted: accepted / asked,
    p50: times.length > 0 ? quantile(times, 0.5) : Infinity,
    p99: times.length > 0 ? quantile(times, 0.99) : Infinity,
    memory: memoryOf(pid).peak,
    descriptors,
    longestTurn: running.longestTurn(),
    missed: [],
    late: false,
    failures,
  }
  const end = running.ended()
  if (end !== null) outcome.missed.push(`the daemon ended with ${end}`)
  if (outcome.accepted < LEAST_ACCEPTED) outcome.missed.push('too little was accepted')
  if (outcome.memory >= MOST_MEMORY) outcome.missed.push('too much memory')
  if (descriptors.after > descriptors.before + OWN_DESCRIPTORS)
    outcome.missed.push('descriptors are still open')
  outcome.late = outcome.p99 >= MOST_P99
  return outcome
}
