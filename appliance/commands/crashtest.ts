import { systemClock } from '../clock/clock.ts'
import { runCrashtest, type CrashtestReport } from '../crashtest/crashtest.ts'
import { UsageError, reportFailure, type Adapters, type CommonOptions } from './context.ts'
import { createOutput, formatTable } from './output.ts'

export interface CrashtestArgs extends CommonOptions {
  engine: 'sqlite' | 'postgres'
  /** Connection string of an empty PostgreSQL database. */
  url?: string
  nodes: number
  kills: number
  seed: number
  /** In seconds. */
  duration?: number
}

/** Maximum number of faults of a kind that are printed; `--json` prints all. */
const MOST_SHOWN = 20
/** Maximum number of nodes. Each needs about 200 MB of memory. */
const MOST_NODES = 9

/**
 * `crashtest`: kills its own daemon again and again. Exit code 1 if mail was lost, or duplicated without a kill.
 * SIGTERM stops early, with a report.
 */
export async function runCrashtestCommand(args: CrashtestArgs, adapters: Adapters): Promise<number> {
  const output = createOutput(args.json === true)
  return reportFailure(output, async () => {
    const { openStorage, openResolver } = await adapters()
    const { engine, url: database } = args
    refuseMisuse(args)
    const enough = new AbortController()
    process.once('SIGTERM', () => enough.abort())
    const report = await runCrashtest(
      { openStorage, openResolver },
      {
        engine,
        database,
        nodes: args.nodes,
        kills: args.kills,
        seed: args.seed,
        durationMs: args.duration === undefined ? undefined : args.duration * 1000,
        clock: systemClock,
        enough: enough.signal,
        progress: (text) => output.error(text),
      },
    )
    output.object({ object: 'crashtest', ...report })
    output.text(...describeCrashtest(report))
    return report.sound ? 0 : 1
  })
}

/**
 * Refuses options that contradict each other.
 * @throws UsageError
 */
function refuseMisuse({ engine, url, nodes }: CrashtestArgs): void {
  if (url !== undefined && engine !== 'postgres') throw new UsageError('--url needs --engine postgres.')
  if (nodes > 1 && engine !== 'postgres') throw new UsageError('Several --nodes need --engine postgres.')
  if (nodes > 1 && url !== undefined)
    throw new UsageError('--nodes starts a PostgreSQL server of its own, so --url must not be given.')
  if (nodes > MOST_NODES) throw new UsageError(`--nodes must be at most ${MOST_NODES}.`)
}

/** Formats the report: how the daemon died, the outcome of the mail, and every fault. */
export function describeCrashtest(report: CrashtestReport): string[] {
  const { verdict, points, faults, events, arrivals } = report
  const explained = verdict.duplicates.filter(({ kills }) => kills !== null).length
  const rows: [string, string | number][] = [
    ['accepted emails', verdict.accepted],
    ['  sent in batches', verdict.batched],
    ['  scheduled, none delivered early', verdict.scheduled],
    ['recipients', verdict.expected],
    ['  held when sent, none delivered before release', verdict.held],
    ['delivered', verdict.delivered],
    ['bounced', verdict.bounced],
    ['lost', verdict.lost.length],
    ['delivered twice, after a kill between the 250 reply and the commit', explained],
    ['delivered twice, unexplained', verdict.duplicates.length - explained],
    ['most duplicates from one kill / in flight at that kill', mostOfOneKill(verdict)],
    ['kills with more duplicates than deliveries in flight', verdict.beyond.length],
    ['most open SMTP conversations at a kill', report.mostConversations],
    ...(report.nodes > 1 ? [leasesRow(verdict)] : []),
    ['idempotency keys used twice', verdict.twice.length],
    ['resent by an SMTP client that got no reply because of a kill', verdict.resent],
    ['events of these emails', events.events],
    ['events never delivered to the webhook', events.untold.length],
    ['events delivered to the webhook', events.told],
    ['events delivered again with the same ID', events.repeated],
    ['emails received on the public MX', arrivals.emails],
    ['delivery reports received on the public MX', arrivals.reports],
    ['  lost', arrivals.lost.length],
    ['  sent again because a kill took the reply, stored twice', arrivals.resent],
    ['  without exactly one event', arrivals.untold.length],
    [
      'time from start to accepting mail, median / longest (ms)',
      `${report.startMs.median} / ${report.startMs.longest}`,
    ],
  ]
  return [
    `${engineOf(report)}: ${report.kills} kills, seed ${report.seed}, ${report.seconds} seconds.`,
    '',
    ...formatTable(
      ['KILLED AT', 'PLANNED', 'DONE'],
      points.map(({ name, planned, reached, unreachable }) => [
        name,
        `${planned}`,
        unreachable ?? `${reached}`,
      ]),
    ),
    '',
    ...formatTable(
      ['OUTCOME', ''],
      rows.map(([name, value]) => [name, `${value}`]),
    ),
    '',
    ...complaints(report),
    report.sound
      ? 'No accepted email was lost.'
      : `The test failed. All data, including the ledger, is kept in ${report.kept ?? ''}.`,
    ...(faults.length > 0 ? faults.slice(0, MOST_SHOWN) : []),
  ]
}

const engineOf = ({ engine, nodes }: CrashtestReport): string =>
  engine === 'sqlite' ? 'SQLite' : nodes > 1 ? `PostgreSQL with ${nodes} nodes` : 'PostgreSQL'

const leasesRow = ({ longestFreeMs, freedLate }: CrashtestReport['verdict']): [string, string] => [
  'longest time until the leases of a lost node were free (ms) / later than 20 s',
  `${longestFreeMs ?? '-'} / ${freedLate.length}`,
]

function mostOfOneKill({ mostOfOneKill: most }: CrashtestReport['verdict']): string {
  return most ? `${most.copies} / ${most.inFlight ?? 'unknown'}` : '0'
}

function complaints({ verdict, points, events, arrivals }: CrashtestReport): string[] {
  const { lost, twice, wrong, refused, duplicates } = verdict
  const beyond = verdict.beyond.map(
    ({ kill, copies, inFlight }) => `kill ${kill}: ${copies} duplicates, ${inFlight} deliveries in flight`,
  )
  const unexplained = duplicates
    .filter(({ kills }) => kills === null)
    .map(({ mark, recipient, copies }) => `${mark} ${recipient}: ${copies} copies`)
  const missed = points.filter(({ planned, reached }) => planned > 0 && reached === 0).map(({ name }) => name)
  const untried = points
    .filter(({ planned, unreachable }) => planned === 0 && unreachable === null)
    .map(({ name }) => name)
  const kinds: [string, string[]][] = [
    ['Lost', lost],
    ['Key used twice', twice],
    ['Wrong', wrong],
    ['Refused', refused],
    ['Delivered twice without a kill', unexplained],
    ['More duplicates than in flight', beyond],
    ['Leases freed later than after 20 s', verdict.freedLate.map((kill) => `kill ${kill}`)],
    ['Event never delivered', events.untold],
    ['Wrong event', events.strange],
    ['Received and lost', arrivals.lost],
    ['Received and wrong', arrivals.wrong],
    ['Received without exactly one event', arrivals.untold],
    ['Refused on the public MX', arrivals.refused],
    ['Not reached', missed],
    ['Not tested, too few kills', untried],
  ]
  return kinds.flatMap(([kind, list]) => list.slice(0, MOST_SHOWN).map((one) => `${kind}: ${one}`))
}
