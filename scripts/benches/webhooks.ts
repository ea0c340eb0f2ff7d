/**
 * Measures event delivery to webhooks: events per second, from storing an event to the endpoint's response. The last
 * endpoint accepts requests but never responds. The endpoints are a separate process. Prints figures, asserts nothing.
 * usage: ./scripts/bench webhooks [--rate 1000] [--seconds 10] [--endpoints 20]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as rest } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openEvents, openResolver } from '../../appliance/assembly/adapters.ts'
import { systemClock as clock } from '../../appliance/clock/clock.ts'
import { loadConfig } from '../../appliance/config/config.ts'
import { newId } from '../../appliance/mail/ids.ts'
import { createSuppressionCause } from '../../appliance/mail/suppression.ts'
import { openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import type { NewEmail, Storage } from '../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '10' },
    endpoints: { type: 'string', default: '20' },
  },
})
const [rate, seconds, endpoints] = [values.rate, values.seconds, values.endpoints].map(Number) as [
  number,
  number,
  number,
]
/** Number of events stored together. */
const BATCH = 20

/** Returns an email to a suppressed address. It isn't sent, and its event is stored with it. */
function emailOf(teamId: string, now: number): NewEmail {
  const id = newId(now)
  return {
    id,
    teamId,
    domainId: newId(now),
    apiKeyId: null,
    via: 'rest',
    from: 'Shop <shop@example.com>',
    to: ['ada@customer.example'],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Your order',
    content: { place: 'message', html: null, text: null },
    headers: [],
    tags: [{ name: 'kind', value: 'receipt' }],
    attachments: [],
    messageId: `<${id}@example.com>`,
    returnPath: `b-${id}@send.example.com`,
    reportTo: null,
    dsn: null,
    requireTls: null,
    scheduledAt: null,
    stream: 'transactional',
    topicId: null,
    pool: 'default',
    message: Buffer.from('Subject: x\r\n\r\nx\r\n'),
    deliveries: [
      {
        id: newId(now),
        recipient: 'ada@customer.example',
        field: 'to',
        dueAt: now,
        expiresAt: now,
        suppressed: createSuppressionCause({ origin: 'manual' }),
        dsn: null,
      },
    ],
  }
}

/** Creates a team with an endpoint for each port. The last endpoint never responds. */
async function makeTeams(storage: Storage, ports: number[]): Promise<string[]> {
  const now = clock.now()
  const teams: string[] = []
  for (const port of ports) {
    const teamId = newId(now)
    const user = {
      id: newId(now),
      email: `owner${port}@example.com`,
      passwordHash: 'x',
      provenAt: null,
      createdAt: now,
    }
    await storage.createOwner({ team: { id: teamId, name: 'Team', createdAt: now }, user }, now)
    const webhook = {
      id: newId(now),
      teamId,
      endpoint: `http://127.0.0.1:${port}/`,
      events: ['email.suppressed'],
      status: 'enabled' as const,
      secret: `whsec_${'A'.repeat(32)}`,
      oldSecret: null,
      createdAt: now,
      succeededAt: null,
      failingSince: null,
      disabled: null,
      broadcasts: true,
    }
    await storage.createWebhook({ webhook, most: 50 }, now)
    teams.push(teamId)
  }
  return teams
}

const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
const script = join(import.meta.dirname, 'webhook-receivers.ts')
const child = spawn(process.execPath, [script, String(endpoints)], {
  stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
})
try {
  const [{ ports }] = (await once(child, 'message')) as [{ ports: number[] }]
  const env = { POSTHASTE_HOSTNAME: 'mail.example.com', POSTHASTE_WEBHOOKS__ALLOW_NETWORKS: '127.0.0.0/8' }
  const loaded = loadConfig({ env, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  const storage = await openSqlite({ dataDir: folder, onEvents: () => events.wake() })
  const resolver = openResolver(loaded.config, clock)
  const events = openEvents(loaded.config, { storage, resolver, clock, log: createSilentLogger() })
  const teams = await makeTeams(storage, ports)
  events.start()
  await measure(storage, teams)
  child.send('report')
  const [report] = (await once(child, 'message')) as [Record<'taken' | 'p50' | 'p99' | 'most', number>]
  const { taken, p50, p99, most } = report
  const sent = rate * seconds * ((endpoints - 1) / endpoints)
  console.log(
    `succeeded at working webhooks: ${taken} of ${sent}, event to webhook p50 ${p50} ms, p99 ${p99} ms, longest ${most} ms`,
  )
  child.kill('SIGKILL')
  await events.stop()
  resolver.close()
  await storage.close()
} finally {
  child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
}

/** Stores events at the given rate, alternating between teams, then waits two seconds for the last ones to arrive. */
async function measure(storage: Storage, teams: string[]): Promise<void> {
  console.log(
    `${availableParallelism()} cores, ${rate} events/s for ${seconds} s, ${endpoints} webhooks, one dead`,
  )
  const begun = clock.now()
  const used = process.cpuUsage()
  let made = 0
  const puts: Promise<unknown>[] = []
  while (made < rate * seconds) {
    const now = clock.now()
    const due = Math.min(rate * seconds, ((now - begun) / 1000) * rate)
    while (made + BATCH <= due) {
      const emails = Array.from({ length: BATCH }, () => emailOf(teams[made++ % teams.length]!, now))
      puts.push(storage.put({ emails, receipt: null, quota: null }, now))
    }
    await rest(5)
  }
  await Promise.all(puts)
  const took = (clock.now() - begun) / 1000
  const { user, system } = process.cpuUsage(used)
  const cores = (user + system) / 1e6 / took
  console.log(
    `stored ${made} events in ${took.toFixed(1)} s; the daemon used ${cores.toFixed(2)} cores, including storing`,
  )
  await rest(2000)
}
