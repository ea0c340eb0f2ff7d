/**
 * Attacks the appliance as strangers and as tenants, while a normal client of another team sends mail through it. Each
 * attack gets its own daemon with the shipped limits. All traffic stays on loopback.
 * usage: ./scripts/attack [--only NAME]... [--seconds 10]
 *        ./scripts/attack --soak [--seconds 600]      all attacks at once
 *        ./scripts/attack --list
 *        ./scripts/attack --fuzz http|smtp-lines|smtp-messages [--count N] [--seed N]
 */
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { ATTACKS } from './catalog.ts'
import { isFuzzTarget, runFuzz } from './fuzz.ts'
import { runAttacks, type Outcome } from './run.ts'

const USAGE =
  'usage: ./scripts/attack [--only NAME]... [--seconds N] [--soak] [--list]\n' +
  '       ./scripts/attack --fuzz http|smtp-lines|smtp-messages [--count N] [--seed N]'

const COLUMNS = ['accepted', 'p50', 'p99', 'memory', 'descriptors', 'longest turn'].map((name) =>
  name.padStart(14),
)
const NAME_WIDTH = 20
/** Timeout of the normal client's requests, in milliseconds. */
const PATIENCE = 10_000

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
process.exitCode = await main()

async function main(): Promise<number> {
  const values = readOptions()
  if (values === null) return wrong(USAGE)
  if (values.list) return list()
  const seconds = number(values.seconds ?? (values.soak ? '600' : '10'))
  const unknown = values.only.find((name) => !(name in ATTACKS))
  if (unknown !== undefined) return wrong(`There is no attack ${unknown}; --list shows all.`)
  if (seconds === null || seconds < 1) return wrong('--seconds is a whole number from 1.')
  console.log(`${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}`)
  if (values.fuzz !== undefined) {
    const [count, seed] = [number(values.count), number(values.seed)]
    if (!isFuzzTarget(values.fuzz) || count === null || seed === null) return wrong(USAGE)
    return (await runFuzz({ what: values.fuzz, count, seed })) ? 0 : 1
  }
  console.log(''.padEnd(NAME_WIDTH) + COLUMNS.join(''))
  const names = values.only.length > 0 ? values.only : Object.keys(ATTACKS)
  const sets: [string, string[]][] = values.soak ? [['soak', names]] : names.map((name) => [name, [name]])
  let missed = 0
  for (const [name, attacks] of sets) {
    const outcome = await runAttacks({ name, attacks, seconds, patience: PATIENCE })
    if (outcome.late || outcome.missed.length > 0) missed++
    show(outcome)
  }
  return missed > 0 ? 1 : 0
}

/** Reads the command line. Returns null if it has an unknown option. */
function readOptions() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string', multiple: true, default: [] },
        seconds: { type: 'string' },
        soak: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        fuzz: { type: 'string' },
        count: { type: 'string', default: '100000' },
        seed: { type: 'string', default: '1' },
      },
    }).values
  } catch {
    return null
  }
}

function list(): number {
  for (const [name, { what }] of Object.entries(ATTACKS)) console.log(name.padEnd(NAME_WIDTH) + what)
  return 0
}

function wrong(why: string): number {
  console.error(why)
  return 2
}

/** Parses a whole number. Returns null for anything else. */
function number(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null
}

function show(outcome: Outcome): void {
  const { name, accepted, asked, p50, p99, memory, descriptors } = outcome
  const cells = [
    `${(accepted * 100).toFixed(1)}% of ${asked}`,
    `${p50.toFixed(0)} ms`,
    `${p99.toFixed(0)} ms`,
    `${(memory / 1e6).toFixed(0)} MB`,
    `${descriptors.before} ${descriptors.most} ${descriptors.after}`,
    `${outcome.longestTurn.toFixed(0)} ms`,
  ]
  const missed = [...outcome.missed, ...(outcome.late ? ['p99 is 1 s or more'] : [])]
  const verdict = missed.length === 0 ? 'ok' : `MISSED: ${missed.join(', ')}`
  console.log(`${name.padEnd(NAME_WIDTH)}${cells.map((cell) => cell.padStart(14)).join('')}  ${verdict}`)
  for (const [why, times] of outcome.failures) console.log(`    ${times} times ${why}`)
}
