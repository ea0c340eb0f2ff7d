import { systemClock, type Clock } from '../clock/clock.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import {
  removeUnwantedBodies,
  runRetention,
  type RetentionStorage,
  type RetentionPeriods,
} from './retention.ts'

export { reportDiskUsage, type DiskUsageReport } from './disk.ts'
export {
  forecastDaysUntilFull,
  removeUnwantedBodies,
  runRetention,
  type RetentionPeriods,
} from './retention.ts'

/** The storage methods that this file needs. A structural type, so that this folder doesn't import other folders. */
export interface HousekeepingStorage extends RetentionStorage {
  purgeSessions(args: object, now: number): Promise<number>
  purgeTickets(args: object, now: number): Promise<number>
  purgeInvitations(args: object, now: number): Promise<number>
  purgeReceipts(args: { limit: number }, now: number): Promise<number>
  purgeLogs(args: { before: number; most: number }, now: number): Promise<number>
  purgeWebhookDeliveries(args: { before: number; most: number }, now: number): Promise<number>
  purgeTlsResults(args: { before: string; most: number }, now: number): Promise<number>
  purgeLaneDays(args: { before: string }, now: number): Promise<number>
  purgeDomainReports(args: { before: number; most: number }, now: number): Promise<number>
  purgeAudit(args: { before: number; most: number }, now: number): Promise<number>
  purgeImages(args: { before: number; most: number }, now: number): Promise<number>
  purgeSentEvents(args: { before: number; most: number }, now: number): Promise<number>
  purgeAutomationRuns(args: { before: number; most: number }, now: number): Promise<number>
  purgeAlerts(args: { before: number; most: number }, now: number): Promise<number>
  purgeInsightDays(args: { before: string }, now: number): Promise<number>
  metricsToSum(args: object, now: number): Promise<string[]>
  sumMetricsUp(args: { teamId: string }, now: number): Promise<boolean>
  recordSegmentDays(args: { before: string }, now: number): Promise<void>
}

const DAY = 24 * 60 * 60 * 1000

/**
 * Number of rows removed per transaction. A transaction takes a few milliseconds, in which nothing else can be written.
 */
const STEP = 500

/** Removes expired idempotency receipts in steps, so that mail can be accepted in between. Returns how many. */
function purgeReceipts(storage: HousekeepingStorage, clock: Clock): Promise<number> {
  return inSteps(() => storage.purgeReceipts({ limit: STEP }, clock.now()))
}

/** Removes logged API requests older than `days`, in steps; returns how many. */
function purgeLogs(storage: HousekeepingStorage, clock: Clock, days: number): Promise<number> {
  const before = clock.now() - days * DAY
  return inSteps(() => storage.purgeLogs({ before, most: STEP }, clock.now()))
}

/** Removes webhook deliveries older than `days`, in steps; returns how many. */
function purgeWebhooks(storage: HousekeepingStorage, clock: Clock, days: number): Promise<number> {
  const before = clock.now() - days * DAY
  return inSteps(() => storage.purgeWebhookDeliveries({ before, most: STEP }, clock.now()))
}

/** How long unused images are kept, in days. The author may not have saved the document yet. */
const UNUSED_IMAGE_DAYS = 30
/** Number of images removed per transaction. Each may have megabytes. */
const IMAGES_STEP = 20

/** Removes images that were uploaded but never used, in steps; returns how many. */
async function purgeImages(storage: HousekeepingStorage, clock: Clock): Promise<number> {
  const before = clock.now() - UNUSED_IMAGE_DAYS * DAY
  let removed = 0
  for (;;) {
    const count = await storage.purgeImages({ before, most: IMAGES_STEP }, clock.now())
    removed += count
    if (count < IMAGES_STEP) return removed
  }
}

/** How long closed alerts are kept, in days. */
const ALERT_DAYS = 90

/** How long custom events and ended runs of automations are kept, in days. */
const SENT_EVENT_DAYS = 30

/** Removes unused images, old custom events and old runs. */
async function purgeContent(storage: HousekeepingStorage, clock: Clock, log: Logger): Promise<void> {
  const images = await purgeImages(storage, clock)
  if (images > 0) log.info({ images }, 'deleted images that no document uses')
  const before = clock.now() - SENT_EVENT_DAYS * DAY
  const events = await inSteps(() => storage.purgeSentEvents({ before, most: STEP }, clock.now()))
  if (events > 0) log.info({ events }, 'deleted old custom events')
  const runs = await inSteps(() => storage.purgeAutomationRuns({ before, most: STEP }, clock.now()))
  if (runs > 0) log.info({ runs }, 'deleted old runs of automations')
  const closed = clock.now() - ALERT_DAYS * DAY
  const alerts = await inSteps(() => storage.purgeAlerts({ before: closed, most: STEP }, clock.now()))
  if (alerts > 0) log.info({ alerts }, 'deleted old alerts')
}

/** Removes audit log entries older than `days`, in steps; 0 keeps all. Returns how many. */
export async function purgeAudit(storage: HousekeepingStorage, clock: Clock, days: number): Promise<number> {
  if (days === 0) return 0
  const before = clock.now() - days * DAY
  return inSteps(() => storage.purgeAudit({ before, most: STEP }, clock.now()))
}

/**
 * Sums up the metrics of past days, one team and day at a time, so that mail can be accepted in between. Returns the
 * number of days.
 * @param stopped called between two days
 */
export async function sumUpMetrics(
  storage: Pick<HousekeepingStorage, 'metricsToSum' | 'sumMetricsUp'>,
  clock: Pick<Clock, 'now'>,
  stopped: () => boolean = () => false,
): Promise<number> {
  let days = 0
  for (const teamId of await storage.metricsToSum({}, clock.now()))
    while (!stopped() && (await storage.sumMetricsUp({ teamId }, clock.now()))) days += 1
  return days
}

async function inSteps(step: () => Promise<number>): Promise<number> {
  let removed = 0
  for (;;) {
    const count = await step()
    removed += count
    if (count < STEP) return removed
  }
}

/** How long TLS results and reports are kept, in days. */
const TLS_DAYS = 30
/** Number of domains of one day removed per transaction. Each has up to a hundred rows. */
const TLS_STEP = 20

/** Removes old TLS results of recipient domains, and expired policies; returns how many rows. */
async function purgeTlsResults(storage: HousekeepingStorage, clock: Clock): Promise<number> {
  const before = dateBefore(clock, TLS_DAYS)
  let removed = 0
  for (;;) {
    const count = await storage.purgeTlsResults({ before, most: TLS_STEP }, clock.now())
    if (count === 0) return removed
    removed += count
  }
}

/** Returns the UTC day a number of days ago, as `YYYY-MM-DD`. */
const dateBefore = (clock: Clock, days: number): string =>
  new Date(clock.now() - days * DAY).toISOString().slice(0, 10)

/**
 * How long DMARC and TLS reports of other servers, and daily results of sending IPs, are kept, in days: long enough to
 * compare a year with the previous one.
 */
const REPORT_DAYS = 400
/** Number of reports removed per transaction. Each has up to a thousand rows. */
const REPORT_STEP = 20

/** Removes old reports about domains, and old results of sending IPs. */
async function purgeReputation(storage: HousekeepingStorage, clock: Clock, log: Logger): Promise<void> {
  const before = clock.now() - REPORT_DAYS * DAY
  let reports = 0
  for (let count = REPORT_STEP; count === REPORT_STEP; reports += count)
    count = await storage.purgeDomainReports({ before, most: REPORT_STEP }, clock.now())
  if (reports > 0) log.info({ reports }, 'deleted old DMARC and TLS reports')
  const days = await storage.purgeLaneDays({ before: dateBefore(clock, REPORT_DAYS) }, clock.now())
  if (days > 0) log.info({ days }, 'deleted old results of sending IPs')
  const checks = await storage.purgeInsightDays({ before: dateBefore(clock, REPORT_DAYS) }, clock.now())
  if (checks > 0) log.info({ checks }, 'deleted old counts of failed checks')
}

/** How long daily sizes of segments are kept, in days. */
const SEGMENT_DAYS = 90

/** Dependencies of housekeeping. */
export interface HousekeepingDeps {
  /** Decides which process does the housekeeping. Default: this is the only process. */
  duties?: Duties | undefined
  storage: HousekeepingStorage
  clock: Clock
  log: Logger
  /** How many days API requests are kept. */
  logDays: number
  /** How many days webhook deliveries are kept. */
  webhookDays: number
  /** How many days audit log entries are kept; 0 for forever. */
  auditDays: number
  /** How long emails in a final state are kept. */
  retention: RetentionPeriods
}

/** Starts regular housekeeping: removes expired data, and sums up the metrics of past days. */
export function startHousekeeping({
  pollMs,
  ...deps
}: HousekeepingDeps & {
  /** How often to look for bodies that must not be kept, in milliseconds. */
  pollMs: number
}): {
  stop(): Promise<void>
} {
  const chores = createHousekeepingTasks(deps)
  const endSweeps = everyHour(() => void chores.run())
  const unkept = watchUnkept({ ...deps, pollMs, logged: deps.logDays > 0 })
  return {
    async stop() {
      endSweeps()
      await chores.stop()
      await unkept.stop()
    },
  }
}

const HOUR = 60 * 60 * 1000
/**
 * Time in the hour at which housekeeping runs, in milliseconds. Not on the hour, when other programs make reports and
 * backups.
 */
const MINUTE = 17 * 60 * 1000

/**
 * Calls `run` at 17 minutes past every hour of the machine's clock, which tests and the sandbox don't change. Returns a
 * function that stops this.
 */
function everyHour(run: () => void): () => void {
  let cancel = (): void => undefined
  const arm = (past: number): void => {
    const at = Math.floor((past - MINUTE) / HOUR + 1) * HOUR + MINUTE
    cancel = systemClock.after(at - systemClock.now(), () => {
      run()
      // A timer may fire slightly early.
      arm(Math.max(at, systemClock.now()))
    })
  }
  arm(systemClock.now())
  return () => cancel()
}

/** The hourly housekeeping tasks. */
export interface HousekeepingTasks {
  /** Runs all tasks once. Never rejects: a failure is logged, and the task is retried in the next hour. */
  run(): Promise<void>
  /**
   * Stops a run between two steps, and waits for it. Never rejects, because an old failure must not make the shutdown
   * fail.
   */
  stop(): Promise<void>
}

/** Creates the hourly tasks; the caller decides when to call `run`. */
export function createHousekeepingTasks(deps: HousekeepingDeps): HousekeepingTasks {
  const { storage, clock, log, logDays, webhookDays, auditDays, retention } = deps
  const onDuty = createDutyCheck(deps.duties, 'retention')
  let stopping = false
  let running: Promise<void> = Promise.resolve()
  const steps: (() => Promise<void>)[] = [
    async () => {
      const sessions = await storage.purgeSessions({}, clock.now())
      if (sessions > 0) log.info({ sessions }, 'deleted expired sessions')
      const invitations = await storage.purgeInvitations({}, clock.now())
      if (invitations > 0) log.info({ invitations }, 'deleted expired invitations')
      const tickets = await storage.purgeTickets({}, clock.now())
      if (tickets > 0) log.info({ tickets }, 'deleted unfinished sign-ins and links')
    },
    async () => {
      const receipts = await purgeReceipts(storage, clock)
      if (receipts > 0) log.info({ receipts }, 'deleted expired idempotency keys')
    },
    async () => {
      const requests = await purgeLogs(storage, clock, logDays)
      if (requests > 0) log.info({ requests }, 'deleted old API requests from the log')
    },
    async () => {
      const told = await purgeWebhooks(storage, clock, webhookDays)
      if (told > 0) log.info({ deliveries: told }, 'deleted old webhook deliveries')
    },
    async () => {
      const results = await purgeTlsResults(storage, clock)
      if (results > 0) log.info({ results }, 'deleted old TLS results')
    },
    () => purgeReputation(storage, clock, log),
    async () => {
      const entries = await purgeAudit(storage, clock, auditDays)
      if (entries > 0) log.info({ entries }, 'deleted old audit log entries')
    },
    () => purgeContent(storage, clock, log),
    async () => {
      const days = await sumUpMetrics(storage, clock, () => stopping)
      if (days > 0) log.info({ days }, 'aggregated metrics of past days')
    },
    () => storage.recordSegmentDays({ before: dateBefore(clock, SEGMENT_DAYS) }, clock.now()),
    () => applyRetention({ storage, clock, log, retention }, () => stopping),
  ]
  const all = async (): Promise<void> => {
    try {
      for (const step of steps) if (!stopping && (await onDuty())) await step()
    } catch (error) {
      log.error({ err: error }, 'housekeeping failed; will retry in an hour')
    }
  }
  return {
    run: () => (running = all()),
    stop() {
      stopping = true
      return running
    },
  }
}

/** Runs the retention once and logs the result. */
async function applyRetention(
  {
    storage,
    clock,
    log,
    retention,
  }: { storage: RetentionStorage; clock: Clock; log: Logger; retention: RetentionPeriods },
  stopped: () => boolean,
): Promise<void> {
  const { overBudget, ...removed } = await runRetention(storage, clock, retention, stopped)
  if (Object.values(removed).some((count) => count > 0))
    log.info(removed, 'deleted data past its retention period')
  if (overBudget)
    log.warn(
      { disk_budget: retention.diskBudget },
      'disk usage exceeds retention.disk_budget_mb although all bodies of finished emails are deleted; raise it, or shorten the other periods',
    )
}

/**
 * Maximum pause between rounds in milliseconds when requests aren't logged, because removal then doesn't wait for a log
 * entry.
 */
const SOON = 5000

/**
 * Removes bodies of domains that don't store them, using the mail clock. Not a duty: it runs often, and keeping the
 * duty would cause a write each time. Two nodes can remove the same bodies without harm.
 */
function watchUnkept({
  storage,
  clock,
  log,
  pollMs,
  logged,
}: {
  storage: RetentionStorage
  clock: Clock
  log: Logger
  pollMs: number
  logged: boolean
}): {
  stop(): Promise<void>
} {
  const wait = logged ? pollMs : Math.min(pollMs, SOON)
  let looking: Promise<void> = Promise.resolve()
  let stopped = false
  const look = async (): Promise<void> => {
    try {
      const emails = await removeUnwantedBodies(storage, clock, logged)
      if (emails > 0) log.info({ emails }, 'deleted bodies of finished emails that should not be kept')
    } catch (error) {
      log.error({ err: error }, 'could not delete bodies that should not be kept; will retry')
    }
    if (!stopped) arm()
  }
  const arm = (): void => void (cancel = clock.after(wait, () => void (looking = look())))
  let cancel = (): void => undefined
  // Also handle emails that became final just before the last stop.
  looking = look()
  return {
    async stop() {
      stopped = true
      cancel()
      await looking
    },
  }
}
