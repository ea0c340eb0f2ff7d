/** Runs attacks against a daemon of their own, with the normal client beside, and judges what it saw. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../benches/measured.ts'
import type { Assignment } from './attacker.ts'
import { startCustomer, type Record } from './customer.ts'
import { descriptorsOf, memoryOf } from './gauges.ts'
import { startTarget, type RunningTarget, type Target } from './target.ts'

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
  /** Open descriptors of the daemon before the attack, and up to `FREE_MS` after its end. */
  descriptorsBefore: number
  descriptorsAfter: number
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

/** Runs the attacks, all at once. @param seconds how long */
export async function runAttacks(name: string, attacks: string[], seconds: number): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-attack-'))
  try {
    await using running = await startTarget({ folder, ratePerSecond: null })
    const { target, pid } = running
    const before = startCustomer(target)
    await pause(WARM_UP_MS)
    await before.finish()
    running.longestTurn()
    const descriptorsBefore = descriptorsOf(pid)
    const customer = startCustomer(target)
    await attack(target, attacks, seconds)
    const freed = pause(FREE_MS)
    await customer.finish()
    // The customer's own connections end with it.
    while (descriptorsOf(pid) > descriptorsBefore + OWN_DESCRIPTORS && (await still(freed))) await pause(100)
    return judge(name, customer.record, running, descriptorsBefore)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Whether a promise is not settled yet. */
async function still(promise: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([promise.then(() => 'over'), Promise.resolve('still')])) === 'still'
}

/** Two attackers, until their time is over. */
async function attack(target: Target, attacks: string[], seconds: number): Promise<void> {
  const attackers = ([0, 1] as const).map((number) => startAttacker({ attacks, target, number, seconds }))
  const ends = attackers.map((child) => once(child, 'exit') as Promise<[number | null]>)
  const cut = setTimeout(
    () => attackers.forEach((child) => child.kill('SIGKILL')),
    seconds * 1000 + GRACE_MS + 2000,
  )
  const codes = await Promise.all(ends)
  clearTimeout(cut)
  if (codes.some(([code]) => code !== 0 && code !== null)) throw new Error('An attacker failed; see above.')
}

function startAttacker(assignment: Assignment): ChildProcess {
  return spawn(process.execPath, [join(import.meta.dirname, 'attacker.ts'), JSON.stringify(assignment)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

function judge(name: string, record: Record, running: RunningTarget, descriptorsBefore: number): Outcome {
  const { asked, accepted, times, failures } = record
  const { pid } = running
  const outcome: Outcome = {
    name,
    asked,
    accepted: accepted / asked,
    p50: times.length > 0 ? quantile(times, 0.5) : Infinity,
    p99: times.length > 0 ? quantile(times, 0.99) : Infinity,
    memory: memoryOf(pid).peak,
    descriptorsBefore,
    descriptorsAfter: descriptorsOf(pid),
    longestTurn: running.longestTurn(),
    missed: [],
    late: false,
    failures,
  }
  const end = running.ended()
  if (end !== null) outcome.missed.push(`the daemon ended with ${end}`)
  if (outcome.accepted < LEAST_ACCEPTED) outcome.missed.push('too little was accepted')
  if (outcome.memory >= MOST_MEMORY) outcome.missed.push('too much memory')
  if (outcome.descriptorsAfter > descriptorsBefore + OWN_DESCRIPTORS)
    outcome.missed.push('descriptors are still open')
  outcome.late = outcome.p99 >= MOST_P99
  return outcome
}
