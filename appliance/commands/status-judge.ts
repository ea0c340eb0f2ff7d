/** Decides which facts of `posthaste status` need attention. Pure. */
import { describeLaneReason } from '../mail/waiting.ts'
import type { Finding } from '../mail/finding.ts'
import type { Source } from '../mail/source.ts'
import type { LaneSummary } from '../shaping/shaping.ts'
import type { Delivery, Domain, Webhook } from '../storage/storage.ts'
import type { QueueSummary } from '../queue/queue.ts'
import type { SavedClientUsage, DaemonRun } from './daemon-file.ts'
import type { BackupRecord } from './last-backup.ts'

/** The facts that `status` shows. Times in Unix milliseconds. */
export interface StatusFacts {
  hostname: string
  now: number
  /** The last run. `alive` is false if it ended without a clean stop. Null if it stopped cleanly, or there was none. */
  daemon: { run: DaemonRun; alive: boolean } | null
  /** The listeners, each with its problem; null if it responds. */
  listeners: { address: string; trouble: string | null }[]
  /** Client usage; null if no daemon runs or the usage is unknown. */
  clients: SavedClientUsage | null
  queue: QueueSummary
  /** The oldest queued delivery that is not held, and its reason. */
  oldest: { delivery: Delivery; why: string | null } | null
  /** When the next delivery is due, regardless of lane limits; null if there is none. */
  nextDue: number | null
  lanes: LaneSummary[]
  sources: Source[]
  domains: Domain[]
  webhooks: Webhook[]
  /** Recipients by counter, over the last four full quarters of an hour and the current one. */
  lastHour: Record<'delivered' | 'bounced' | 'delayed', number>
  /** The doctor's findings about the disk and certificates. */
  disk: Finding
  /** The PostgreSQL server in a sentence; null with SQLite. */
  database: string | null
  certificates: Finding[]
  /** Days until the disk is full; null if usage isn't growing or is unknown. */
  fullInDays: number | null
  backup: BackupRecord | null
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Due mail is normally picked up within seconds. After this time, delivery isn't working. */
const OVERDUE = 15 * MINUTE
/** How long a webhook may fail before it is reported: longer than an endpoint's deployment takes. */
const WEBHOOK_PATIENCE = HOUR
const LEAST_DAYS = 7
const BACKUP_AGE = 8 * DAY
/**
 * Share of bounces at which providers start to block senders, and the number of recipients below which the share means
 * little.
 */
const BOUNCE_SHARE = 0.1
const BOUNCES_OF = 50

const problem = (id: string, title: string, found: string, advice: string): Finding => ({
  id,
  title,
  status: 'failed',
  found,
  advice,
})

/** Returns what needs attention, most urgent first; empty if all is well. */
export function findProblems(facts: StatusFacts): Finding[] {
  return [
    ...judgeDaemon(facts),
    ...[facts.disk, ...facts.certificates].filter(urgent),
    ...judgeRoom(facts),
    ...judgeQueue(facts),
    ...judgeSources(facts),
    ...judgeLanes(facts),
    ...judgeDomains(facts),
    ...judgeWebhooks(facts),
    ...judgeBounces(facts),
    ...judgeBackup(facts),
  ]
}

/** A self-signed certificate may be intended; an expiring one isn't. */
const urgent = ({ status, found }: Finding): boolean =>
  status === 'failed' || (status === 'warning' && !found.includes('self-signed'))

function judgeDaemon({ daemon, listeners }: StatusFacts): Finding[] {
  const start = 'Start it: systemctl start posthaste, or posthaste serve. Queued mail is safe on disk.'
  if (daemon === null) return [problem('daemon', 'Daemon', 'The daemon is not running.', start)]
  if (!daemon.alive)
    return [
      problem(
        'daemon',
        'Daemon',
        `The daemon (pid ${daemon.run.pid}) ended without a clean stop.`,
        `${start} See the log for the reason: journalctl -u posthaste.`,
      ),
    ]
  return listeners.flatMap(({ address, trouble }) =>
    trouble === null
      ? []
      : [
          problem(
            `listener:${address}`,
            `Listener ${address}`,
            `It ${trouble}.`,
            'Check the log, then restart the daemon.',
          ),
        ],
  )
}

function judgeRoom({ fullInDays }: StatusFacts): Finding[] {
  if (fullInDays === null || fullInDays > LEAST_DAYS) return []
  return [
    problem(
      'disk-forecast',
      'Disk forecast',
      `At last week's rate, the disk is full in ${fullInDays} days.`,
      'Shorten the periods in [retention], set retention.disk_budget_mb, or use a larger disk. To see disk usage, run: posthaste retention',
    ),
  ]
}

function judgeQueue({ nextDue, now, lanes, queue }: StatusFacts): Finding[] {
  const overdue = nextDue === null ? 0 : now - nextDue
  // Mail behind a paused lane stays due; the lane itself is reported.
  if (overdue < OVERDUE || queue.inFlight > 0 || lanes.some(({ paused }) => paused !== null)) return []
  const minutes = Math.floor(overdue / MINUTE)
  return [
    problem(
      'queue',
      'Queue',
      `Mail has been due for ${minutes} minutes, but no attempt is in progress.`,
      'To see the reasons, run posthaste queue list. To check DNS and port 25, run posthaste doctor.',
    ),
  ]
}

function judgeSources({ sources }: StatusFacts): Finding[] {
  const suspended = sources.filter(({ state }) => state === 'suspended')
  if (sources.length > 0 && suspended.length === sources.length)
    return [
      problem(
        'sources',
        'Sending IPs',
        'All sending IPs are suspended, so no mail is sent.',
        'To see why, run posthaste source list. To resume one, run posthaste source resume IP.',
      ),
    ]
  return suspended
    .filter(({ suspendedBy }) => suspendedBy === 'check')
    .map(({ ip, stateReason }) =>
      problem(
        `source:${ip}`,
        `Sending IP ${ip}`,
        `Suspended: ${stateReason ?? 'a check failed.'}`,
        'It resumes when the check passes. To see what to fix, run: posthaste doctor',
      ),
    )
}

function judgeLanes({ lanes }: StatusFacts): Finding[] {
  return lanes
    .filter(({ paused }) => paused !== null && paused.until === null)
    .map(({ id, provider, reason }) =>
      problem(
        `lane:${id}`,
        `Lane ${id}`,
        `Paused until an operator resumes it: ${reason ? describeLaneReason(reason, provider) : 'no reason recorded'}.`,
        `posthaste lane resume ${id}`,
      ),
    )
}

function judgeDomains({ domains }: StatusFacts): Finding[] {
  return domains
    .filter(hasBrokenRecords)
    .map(({ name, checks, status }) =>
      problem(
        `domain:${name}`,
        `Domain ${name}`,
        checks.find(({ note }) => note !== null)?.note ?? `Its records are ${status.replace('_', ' ')}.`,
        `To see the records to publish, run: posthaste domain show ${name}`,
      ),
    )
}

/** Reports whether a domain's records disappeared, or weren't published in time. */
export const hasBrokenRecords = ({ status }: Domain): boolean =>
  status === 'failed' || status === 'partially_failed'

function judgeWebhooks({ webhooks, now }: StatusFacts): Finding[] {
  return webhooks.flatMap(({ id, endpoint, disabled, failingSince }) => {
    const about = [`webhook:${id}`, `Webhook ${endpoint}`] as const
    if (disabled !== null)
      return [
        problem(
          ...about,
          `Disabled: ${disabled.reason}`,
          `Fix the cause, then run: posthaste webhook enable ${id}`,
        ),
      ]
    if (failingSince === null || now - failingSince < WEBHOOK_PATIENCE) return []
    const since = new Date(failingSince).toISOString().slice(0, 16).replace('T', ' ')
    return [
      problem(
        ...about,
        `It has been failing since ${since} UTC.`,
        `To see its last responses, run: posthaste webhook show ${id}`,
      ),
    ]
  })
}

function judgeBounces({ lastHour: { delivered, bounced } }: StatusFacts): Finding[] {
  const ended = delivered + bounced
  if (ended < BOUNCES_OF || bounced < ended * BOUNCE_SHARE) return []
  return [
    problem(
      'bounces',
      'Bounces',
      `${bounced} of ${ended} recipients in the last hour bounced.`,
      'To find the domain, run posthaste metrics show --by domain. Hold its mail with posthaste queue hold before providers block the IP.',
    ),
  ]
}

function judgeBackup({ backup, now }: StatusFacts): Finding[] {
  if (backup === null || now - backup.at < BACKUP_AGE) return []
  return [
    problem(
      'backup',
      'Backup',
      `The last backup is ${Math.floor((now - backup.at) / DAY)} days old.`,
      'Create one with posthaste backup FILE, and find out why the timer did not.',
    ),
  ]
}
