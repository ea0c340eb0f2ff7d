/** Formats the facts of `posthaste status` for people and programs. Pure. */
import type { Finding } from '../mail/finding.ts'
import { describeLaneReason } from '../mail/waiting.ts'
import type { LaneSummary } from '../shaping/shaping.ts'
import { presentDelivery } from '../api/timeline.ts'
import { presentLane } from '../api/shaping.ts'
import { presentSource } from '../api/sources.ts'
import { formatBytes, formatInstant, wrapParagraph, truncate } from './output.ts'
import { hasBrokenRecords, type StatusFacts } from './status-judge.ts'

const LABEL = 13
/** Maximum number of lines per kind of fact, so that the output fits one screen. */
const SHOWN = 5

/** Formats the screen: the state, then what needs attention. */
export function describeStatus(facts: StatusFacts, problems: readonly Finding[]): string[] {
  const { hostname, queue, lastHour, disk, certificates, fullInDays, backup, database } = facts
  const count = problems.length === 1 ? '1 problem needs' : `${problems.length} problems need`
  const oldest = queue.oldestAt === null ? '' : `; oldest since ${formatInstant(queue.oldestAt)} UTC`
  return [
    `${hostname}: ${problems.length === 0 ? 'everything is fine.' : `${count} attention.`}`,
    '',
    ...describeDaemon(facts),
    ...describeClients(facts),
    ...row('queue', `${queue.waiting} waiting, ${queue.held} held, ${queue.inFlight} in flight${oldest}`),
    ...describeOldest(facts),
    ...describeLanes(facts),
    ...row(
      'sources',
      tally(facts.sources, ({ state }) => state),
    ),
    ...row(
      'domains',
      tally(facts.domains, ({ status }) => status.replaceAll('_', ' ')),
    ),
    ...row('webhooks', tally(facts.webhooks, webhookState)),
    ...row(
      'last hour',
      `${lastHour.delivered} delivered, ${lastHour.bounced} bounced, ${lastHour.delayed} delayed`,
    ),
    ...row('disk', disk.found),
    ...(database === null
      ? row('', fullInDays === null ? 'Disk usage does not appear to grow.' : `Full in ${fullInDays} days.`)
      : row('database', database)),
    ...certificates.flatMap(({ found }) => row('certificate', found)),
    ...row(
      'backup',
      backup === null
        ? database === null
          ? 'none recorded'
          : 'by the tools of PostgreSQL'
        : `${formatInstant(backup.at)} UTC, ${formatBytes(backup.size)}${backup.verified ? '' : ', not verified'}: ${backup.file}`,
    ),
    ...(problems.length === 0 ? [] : ['', 'Needs attention:']),
    ...problems.flatMap(describeProblem),
  ]
}

/** Formats a labeled fact in lines of 80 columns, usually at most two. */
function row(label: string, text: string): string[] {
  const [first = '', ...rest] = wrapParagraph(truncate(text, 2 * (80 - LABEL)), LABEL)
  return [label.padEnd(LABEL) + first.slice(LABEL), ...rest]
}

function describeProblem({ title, found, advice }: Finding): string[] {
  return [
    ...wrapParagraph(`${title}: ${found}`, 2),
    ...(advice === null ? [] : wrapParagraph(`-> ${advice}`, 4)),
  ]
}

function describeDaemon({ daemon, listeners, now }: StatusFacts): string[] {
  if (daemon === null) return row('daemon', 'not running')
  const { pid, version, startedAt } = daemon.run
  if (!daemon.alive) return row('daemon', `ended without a clean stop (version ${version}, pid ${pid})`)
  return [
    ...row(
      'daemon',
      `version ${version}, pid ${pid}, up ${age(now - startedAt)}, since ${formatInstant(startedAt)} UTC`,
    ),
    ...listeners.flatMap(({ address, trouble }, at) =>
      row(at === 0 ? 'listens' : '', `${address}${trouble === null ? '' : `: ${trouble}`}`),
    ),
  ]
}

/** Formats the clients' connections and bytes with their limits, and refusals since the start. */
function describeClients({ clients }: StatusFacts): string[] {
  if (clients === null) return []
  const connections = clients.connections.map(
    ({ listener, open, senders, limit }) =>
      `${listener} ${open} of ${limit} connections${senders > 0 ? ` (${senders} from known senders)` : ''}`,
  )
  const used = clients.bytes.map(
    ({ what, used, limit }) => `${what} ${formatBytes(used)} of ${formatBytes(limit)}`,
  )
  const refused = clients.refused.filter(({ count }) => count > 0)
  const reasons = refused.map(({ what, why, count }) => `${count} ${what} (${why})`)
  return [
    ...row('clients', connections.join(', ')),
    ...row('', used.join(', ')),
    ...row('', reasons.length === 0 ? 'none refused since the start' : `refused: ${reasons.join(', ')}`),
  ]
}

/** Formats a duration: `3 d 4 h`, `2 h 5 min`, `7 min`. */
function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  const hours = Math.floor(minutes / 60)
  if (hours === 0) return `${minutes} min`
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

function describeOldest({ oldest }: StatusFacts): string[] {
  if (oldest === null) return []
  const { recipient, cause, dueAt, attempts } = oldest.delivery
  const reason = cause?.note ?? oldest.why ?? 'not attempted yet'
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  return row('', `${recipient}: ${tries}, next ${formatInstant(dueAt)}; ${reason.replaceAll('\n', ' ')}`)
}

/** Reports whether a lane is paused or its limits are reduced. */
const isSlowed = ({ paused, allowed, limits }: LaneSummary): boolean =>
  paused === null &&
  (allowed.connections < limits.connections || allowed.messagesPerMinute < limits.messagesPerMinute)

function describeLanes({ lanes }: StatusFacts): string[] {
  const paused = lanes.filter((lane) => lane.paused !== null)
  const slowed = lanes.filter((lane) => isSlowed(lane) && lane.reason !== null)
  return [
    ...row('lanes', `${lanes.length}, of them ${paused.length} paused, ${slowed.length} slowed`),
    ...[...paused, ...slowed]
      .slice(0, SHOWN)
      .flatMap(({ id, name, reason }) =>
        row('', `${id}: ${reason === null ? 'paused' : describeLaneReason(reason, name)}`),
      ),
  ]
}

function webhookState({ disabled, status, failingSince }: StatusFacts['webhooks'][number]): string {
  if (disabled !== null || status === 'disabled') return 'disabled'
  return failingSince === null ? 'enabled' : 'failing'
}

/** Counts items by kind: `3 active, 1 suspended`, or `none`. */
function tally<T>(all: readonly T[], kindOf: (one: T) => string): string {
  const kinds = Object.entries(Object.groupBy(all, kindOf))
  return kinds.length === 0 ? 'none' : kinds.map(([kind, some]) => `${some!.length} ${kind}`).join(', ')
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

/** Formats the status as JSON; `problems` are the reasons for exit code 1. */
export function presentStatus(facts: StatusFacts, problems: readonly Finding[]): object {
  const { daemon, queue, oldest, backup, lastHour } = facts
  return {
    object: 'status',
    hostname: facts.hostname,
    needs_attention: problems.length > 0,
    problems: problems.map(({ id, title, found, advice }) => ({ id, title, found, advice })),
    daemon:
      daemon === null
        ? null
        : {
            running: daemon.alive,
            pid: daemon.run.pid,
            version: daemon.run.version,
            started_at: iso(daemon.run.startedAt),
            listeners: facts.listeners,
          },
    clients: facts.clients === null ? null : { ...facts.clients, at: iso(facts.clients.at) },
    queue: {
      waiting: queue.waiting,
      held: queue.held,
      in_flight: queue.inFlight,
      oldest_at: iso(queue.oldestAt),
      oldest: oldest === null ? null : { ...presentDelivery(oldest.delivery), why: oldest.why },
    },
    lanes: facts.lanes.filter((lane) => lane.paused !== null || isSlowed(lane)).map(presentLane),
    sources: facts.sources.map(presentSource),
    broken_domains: facts.domains
      .filter(hasBrokenRecords)
      .map(({ id, name, status }) => ({ id, name, status })),
    webhooks: facts.webhooks.map((one) => ({ id: one.id, endpoint: one.endpoint, state: webhookState(one) })),
    last_hour: lastHour,
    disk: { status: facts.disk.status, found: facts.disk.found, full_in_days: facts.fullInDays },
    database: facts.database,
    certificates: facts.certificates.map(({ status, found }) => ({ status, found })),
    backup: backup === null ? null : { ...backup, at: iso(backup.at) },
  }
}
