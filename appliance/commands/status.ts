/** `posthaste status`: shows the state of the server on one screen, for the person on call. */
import { statfs } from 'node:fs/promises'
import { findConfig } from '../config/config.ts'
import {
  describeDatabase,
  testConnection,
  checkIssuance,
  evaluateCertificate,
  evaluateDisk,
  measureDisk,
  readCertificates,
} from '../insights/insights.ts'
import { createOutput } from './output.ts'
import {
  reportFailure,
  requireValidConfig,
  withContext,
  type Adapters,
  type CommonOptions,
  type Context,
} from './context.ts'
import { readClientUsage, readDaemonRun, type DaemonRun } from './daemon-file.ts'
import { readLastBackup } from './last-backup.ts'
import { openShaping } from './provider.ts'
import { openQueueControl } from './queue.ts'
import { reportDiskUsage } from '../housekeeping/housekeeping.ts'
import { findProblems, type StatusFacts } from './status-judge.ts'
import { describeStatus, presentStatus } from './status-text.ts'

const HOUR = 3_600_000
const DIAL_MS = 2000

/** Prints the status. Returns the exit code: 1 if something needs attention. */
export async function printStatus(options: CommonOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  let well = true
  const code = await reportFailure(output, async () => {
    const { config } = requireValidConfig(findConfig({ file: options.config, env: process.env }).loaded)
    // Checking the status doesn't create the database; the daemon does when it first starts.
    if (!(await adapters()).hasStorage(config)) {
      output.object({ object: 'status', needs_attention: true, daemon: null, problems: [] })
      output.text(
        `Posthaste has not been set up: there is no database in ${config.data_dir}.`,
        '-> posthaste setup, then posthaste serve',
      )
      return 1
    }
    return withContext(options, adapters, async (context) => {
      const facts = await look(context)
      const problems = findProblems(facts)
      well = problems.length === 0
      output.object(presentStatus(facts, problems))
      output.text(...describeStatus(facts, problems))
    })
  })
  return well ? code : 1
}

async function look(context: Context): Promise<StatusFacts> {
  const { config, storage, clock } = context
  const now = clock.now()
  const daemon = readDaemonRun(config.data_dir)
  const teams = (await storage.listTeams({}, now)).map(({ id: teamId }) => ({ teamId }))
  const { data_dir: dataDir } = config
  const shown = await readCertificates(config)
  return {
    hostname: config.hostname,
    now,
    daemon,
    listeners: daemon?.alive === true ? await dialAll(daemon.run) : [],
    clients: daemon?.alive === true ? readClientUsage(config.data_dir) : null,
    ...(await lookAtQueue(context, now)),
    lanes: await openShaping(context).lanes(),
    sources: await storage.listSources({}, now),
    domains: (await Promise.all(teams.map((team) => storage.listDomains(team, now)))).flat(),
    webhooks: (await Promise.all(teams.map((team) => storage.listWebhooks(team, now)))).flat(),
    lastHour: await countHour(context, now),
    disk: evaluateDisk(await measureDisk(dataDir)),
    database: await describeServer(storage),
    certificates: [
      ...shown.map(({ facts, hostname }) => evaluateCertificate(facts, hostname, now)),
      ...(await checkIssuance(config)),
    ],
    fullInDays: await forecastOf(context),
    backup: readLastBackup(dataDir),
  }
}

async function describeServer(storage: Context['storage']): Promise<string | null> {
  const server = await storage.databaseServer()
  return server === null ? null : describeDatabase(server)
}

async function forecastOf({ config, storage, clock }: Context): Promise<number | null> {
  // The disk of a database server can't be measured.
  if (config.storage.engine === 'postgres') return null
  const { disk_budget_mb: megabytes } = config.retention
  const { bavail, bsize } = await statfs(config.data_dir)
  const budget = megabytes === undefined ? null : megabytes * 1_000_000
  return (await reportDiskUsage(storage, clock, { budget, onDisk: bavail * bsize })).fullInDays
}

async function lookAtQueue(
  context: Context,
  now: number,
): Promise<Pick<StatusFacts, 'queue' | 'oldest' | 'nextDue'>> {
  const control = openQueueControl(context)
  const { items } = await control.list({ state: 'waiting' }, { limit: 1 })
  const [delivery] = items
  const [explained] = await openShaping(context).explain(items)
  return {
    queue: await control.summary({}),
    oldest: delivery === undefined ? null : { delivery, why: explained?.why ?? null },
    nextDue: (await context.storage.nextDue({ closed: [] }, now)) ?? null,
  }
}

/**
 * Counts the mail of all teams in the last hour. Roll-ups cover quarters of an hour, so the current quarter is added.
 */
async function countHour({ storage }: Context, now: number): Promise<StatusFacts['lastHour']> {
  const sum = { delivered: 0, bounced: 0, delayed: 0 }
  for (const { teamId } of await storage.metricsSpans({}, now)) {
    const rows = await storage.sumMetrics({ teamId, ranges: [{ start: now - HOUR, end: now }] }, now)
    for (const { counter, n } of rows) {
      if (counter === 'delivered') sum.delivered += n
      if (counter.startsWith('bounced_')) sum.bounced += n
      if (counter === 'delivery_delayed') sum.delayed += n
    }
  }
  return sum
}

function dialAll({ listeners }: DaemonRun): Promise<StatusFacts['listeners']> {
  return Promise.all(
    listeners.map(async (address) => {
      const { hostname, port, protocol } = new URL(address)
      const host = hostname.replace(/^\[|\]$/g, '')
      const ip = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
      const standard = protocol === 'http:' ? 80 : 443
      return {
        address,
        trouble: await testConnection({ ip, port: Number(port) || standard, timeoutMs: DIAL_MS }),
      }
    }),
  )
}
