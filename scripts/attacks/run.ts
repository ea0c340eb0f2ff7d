/** Runs attacks against a separate daemon, with a normal client alongside, and checks that client's results. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../benches/measured.ts'
import type { Assignment } from './attacker.ts'
import { startCustomer, type TrafficRecord } from './customer.ts'
import { countDescriptors, readMemory } from './gauges.ts'
import { startTarget, type RunningTarget } from './target.ts'

/** The results of an attack. */
export interface Outcome {
  name: string
  /** Number of the normal client's requests and messages. */
  asked: number
  /** Share of the client's requests and messages that were accepted, from 0 to 1. */
  accepted: number
  /** Latency of accepted requests and messages, in milliseconds. */
  p50: number
  p99: number
  /** Peak resident memory of the daemon, in bytes. */
  memory: number
  /**
   * Number of the daemon's open descriptors: before the attack, the maximum during the attack, and the number left
   * within `FREE_MS` after it.
   */
  descriptors: { before: number; most: number; after: number }
  /** The longest turn of the event loop, in milliseconds of CPU time. */
  longestTurn: number
  /** Descriptions of missed goals. Latency doesn't count, because a busy machine can also exceed its goal. */
  missed: string[]
  late: boolean
  /** Reasons why requests and messages were not accepted, with counts. */
  failures: TrafficRecord['failures']
}

/** The goals. */
const LEAST_ACCEPTED = 0.99
const MOST_P99 = 1000
const MOST_MEMORY = 1e9
/** Time after the attack within which the daemon must free its descriptors, in milliseconds. */
const FREE_MS = 5000
/**
 * Number of descriptors that may be opened even without an attack: those of worker threads and of connections to mail
 * exchangers.
 */
const OWN_DESCRIPTORS = 40
/**
 * How long the normal client sends before the attack, in milliseconds. A daemon in its first second is not a realistic
 * target.
 */
const WARM_UP_MS = 2000
/** Time after the attack when attackers that are still running are killed, in milliseconds. */
const GRACE_MS = 3000
const LOOK_MS = 200

export interface RunOptions {
  name: string
  /** Names of attacks to run at the same time. */
  attacks: string[]
  seconds: number
  /** Timeout of the normal client's requests, in milliseconds. */
  patience: number
}

/** Runs attacks. Rejects if they can't be started. */
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
    const descriptors = { before: countDescriptors(pid), most: 0, after: 0 }
    const look = setInterval(() => {
      descriptors.most = Math.max(descriptors.most, countDescriptors(pid))
    }, LOOK_MS)
    const customer = startCustomer(target, patience)
    await attack(attackers, seconds)
    clearInterval(look)
    const freed = performance.now() + FREE_MS
    await customer.finish()
    // The customer's own connections are closed now, so all remaining ones belong to attackers.
    do {
      await pause(100)
      descriptors.after = countDescriptors(pid)
    } while (descriptors.after > descriptors.before + OWN_DESCRIPTORS && performance.now() < freed)
    return judge(name, customer.record, running, descriptors)
  } finally {
    process.off('exit', tidy)
    tidy()
  }
}

/** Starts the attackers. Resolves when they have ended. */
async function attack(attackers: ChildProcess[], seconds: number): Promise<void> {
  const ends = attackers.map((child) => once(child, 'exit') as Promise<[number | null]>)
  for (const child of attackers) child.send('go')
  const cut = setTimeout(() => attackers.forEach((child) => child.kill('SIGKILL')), seconds * 1000 + GRACE_MS)
  const codes = await Promise.all(ends)
  clearTimeout(cut)
  if (codes.some(([code]) => code !== 0 && code !== null)) throw new Error('An attacker failed; see above.')
}

/** Resolves when the attacker is ready to start. */
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
  record: TrafficRecord,
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
    memory: readMemory(pid).peak,
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
