import { systemClock, type Clock } from '../clock/clock.ts'
import { dutyOf, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { removeUnkept, retain, type Retainable, type RetentionPeriods } from './retention.ts'

export { viewDisk, type DiskView } from './disk.ts'
export { forecast, removeUnkept, retain, type RetentionPeriods } from './retention.ts'

/** What housekeeping needs of the storage; a shape, so that this folder knows no other. */
export interface Sweepable extends Retainable {
  purgeSessions(args: object, now: number): Promise<number>
  purgeTickets(args: object, now: number): Promise<number>
  purgeInvitations(args: object, now: number): Promise<number>
  purgeReceipts(args: { limit: number }, now: number): Promise<number>
  purgeLogs(args: { before: number; most: number }, now: number): Promise<number>
  purgeWebhookDeliveries(args: { before: number; most: number }, now: number): Promise<number>
  purgeTlsResults(args: { before: string; most: number }, now: number): Promise<number>
  purgeDomainReports(args: { before: number; most: number }, now: number): Promise<number>
  purgeAudit(args: { before: number; most: number }, now: number): Promise<number>
  purgeImages(args: { before: number; most: number }, now: number): Promise<number>
  metricsToSum(args: object, now: number): Promise<string[]>
  sumMetricsUp(args: { teamId: string }, now: number): Promise<boolean>
}

const DAY = 24 * 60 * 60 * 1000

/** Rows removed in one transaction: a few milliseconds, in which nothing else is written. */
const STEP = 500

/** Removes all expired receipts of idempotent requests, in steps between which mail is taken; returns how many. */
function purgeReceipts(storage: Sweepable, clock: Clock): Promise<number> {
  return inSteps(() => storage.purgeReceipts({ limit: STEP }, clock.now()))
}

/** Removes the API's requests that are older than `days`, in such steps; returns how many. */
function purgeLogs(storage: Sweepable, clock: Clock, days: number): Promise<number> {
  const before = clock.now() - days * DAY
  return inSteps(() => storage.purgeLogs({ before, most: STEP }, clock.now()))
}

/** Removes what endpoints were sent more than `days` ago, in such steps; returns how many. */
function purgeWebhooks(storage: Sweepable, clock: Clock, days: number): Promise<number> {
  const before = clock.now() - days * DAY
  return inSteps(() => storage.purgeWebhookDeliveries({ before, most: STEP }, clock.now()))
}

/** Days that an image is kept which no document has had: its writer may not have saved yet. */
const UNUSED_IMAGE_DAYS = 30
/** Images removed in one transaction: each may have megabytes. */
const IMAGES_STEP = 20

/** Removes images that were uploaded and never used, in such steps; returns how many. */
async function purgeImages(storage: Sweepable, clock: Clock): Promise<number> {
  const before = clock.now() - UNUSED_IMAGE_DAYS * DAY
  let removed = 0
  for (;;) {
    const count = await storage.purgeImages({ before, most: IMAGES_STEP }, clock.now())
    removed += count
    if (count < IMAGES_STEP) return removed
  }
}

/** Removes entries of the audit log that are older than `days`, in such steps; 0: none. Returns how many. */
export async function purgeAudit(storage: Sweepable, clock: Clock, days: number): Promise<number> {
  if (days === 0) return 0
  const before = clock.now() - days * DAY
  return inSteps(() => storage.purgeAudit({ before, most: STEP }, clock.now()))
}

/**
 * Sums up the roll-ups of days that are over, a day of a team at a time, between which mail is taken; returns how many days.
 * @param stopped asked between two days
 */
export async function sumUpMetrics(
  storage: Pick<Sweepable, 'metricsToSum' | 'sumMetricsUp'>,
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

/** Days that results of TLS and reports about them are kept. */
const TLS_DAYS = 30
/** Domains of one day removed at a time: each has up to a hundred rows. */
const TLS_STEP = 20

/** Removes what is known of TLS towards recipient domains after its time, and policies that have expired; returns how many rows. */
async function purgeTlsResults(storage: Sweepable, clock: Clock): Promise<number> {
  const before = new Date(clock.now() - TLS_DAYS * DAY).toISOString().slice(0, 10)
  let removed = 0
  for (;;) {
    const count = await storage.purgeTlsResults({ before, most: TLS_STEP }, clock.now())
    if (count === 0) return removed
    removed += count
  }
}

/** Days that DMARC and TLS reports of other servers are kept: a year can be compared with the one before it. */
const REPORT_DAYS = 400
/** Reports removed in one transaction: each has up to a thousand rows. */
const REPORT_STEP = 20

/** Removes old reports about domains. */
async function purgeDomainReports(storage: Sweepable, clock: Clock, log: Logger): Promise<void> {
  const before = clock.now() - REPORT_DAYS * DAY
  let reports = 0
  for (let count = REPORT_STEP; count === REPORT_STEP; reports += count)
    count = await storage.purgeDomainReports({ before, most: REPORT_STEP }, clock.now())
  if (reports > 0) log.info({ reports }, 'deleted old DMARC and TLS reports')
}

/** What the chores need. */
export interface ChoreDeps {
  /** By default this process is alone. */
  duties?: Duties | undefined
  storage: Sweepable
  clock: Clock
  log: Logger
  /** How many days the API's requests are kept. */
  logDays: number
  /** How many days deliveries to webhooks are kept. */
  webhookDays: number
  /** How many days entries of the audit log are kept; 0: for ever. */
  auditDays: number
  /** How long finished emails are kept. */
  retention: RetentionPeriods
}

/** Regular chores: removing what has ended or is old enough, and summing up the metrics of days that are over. */
export function startHousekeeping({
  pollMs,
  ...deps
}: ChoreDeps & {
  /** How often bodies that are not to be kept are looked for, in milliseconds. */
  pollMs: number
}): {
  stop(): Promise<void>
} {
  const chores = createChores(deps)
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
/** When in the hour the chores run: not when everybody's reports and backups do. */
const MINUTE = 17 * 60 * 1000

/** Runs something at 17 minutes past every hour of the machine's clock, which tests and the sandbox don't move. Returns what ends it. */
function everyHour(run: () => void): () => void {
  let cancel = (): void => undefined
  const arm = (past: number): void => {
    const at = Math.floor((past - MINUTE) / HOUR + 1) * HOUR + MINUTE
    cancel = systemClock.after(at - systemClock.now(), () => {
      run()
      // A timer may be a moment early.
      arm(Math.max(at, systemClock.now()))
    })
  }
  arm(systemClock.now())
  return () => cancel()
}

/** The hourly chores. */
export interface Chores {
  /** All of them, once. Never rejects: a failure is told to the log, and the next hour tries again. */
  run(): Promise<void>
  /** Ends a run between two steps and waits for it. Never rejects: what failed an hour ago must not fail a stop. */
  stop(): Promise<void>
}

/** Makes the hourly chores; who calls `run` decides when. */
export function createChores(deps: ChoreDeps): Chores {
  const { storage, clock, log, logDays, webhookDays, auditDays, retention } = deps
  const onDuty = dutyOf(deps.duties, 'retention')
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
    () => purgeDomainReports(storage, clock, log),
    async () => {
      const entries = await purgeAudit(storage, clock, auditDays)
      if (entries > 0) log.info({ entries }, 'deleted old audit log entries')
    },
    async () => {
      const images = await purgeImages(storage, clock)
      if (images > 0) log.info({ images }, 'deleted images that no document uses')
    },
    async () => {
      const days = await sumUpMetrics(storage, clock, () => stopping)
      if (days > 0) log.info({ days }, 'aggregated metrics of past days')
    },
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

/** One run of the retention, told to the log. */
async function applyRetention(
  {
    storage,
    clock,
    log,
    retention,
  }: { storage: Retainable; clock: Clock; log: Logger; retention: RetentionPeriods },
  stopped: () => boolean,
): Promise<void> {
  const { overBudget, ...removed } = await retain(storage, clock, retention, stopped)
  if (Object.values(removed).some((count) => count > 0))
    log.info(removed, 'deleted data past its retention period')
  if (overBudget)
    log.warn(
      { disk_budget: retention.diskBudget },
      'disk usage exceeds retention.disk_budget_mb although all bodies of finished emails are deleted; raise it, or shorten the other periods',
    )
}

/** Milliseconds between looks where no request is logged, so that nothing has to be waited for. */
const SOON = 5000

/**
 * Removes bodies of domains whose bodies are not kept, on the clock that the mail goes by. No duty: it looks often, and would write each time
 * to keep one; that two nodes remove the same does no harm.
 */
function watchUnkept({
  storage,
  clock,
  log,
  pollMs,
  logged,
}: {
  storage: Retainable
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
      const emails = await removeUnkept(storage, clock, logged)
      if (emails > 0) log.info({ emails }, 'deleted bodies of finished emails that should not be kept')
    } catch (error) {
      log.error({ err: error }, 'could not delete bodies that should not be kept; will retry')
    }
    if (!stopped) arm()
  }
  const arm = (): void => void (cancel = clock.after(wait, () => void (looking = look())))
  let cancel = (): void => undefined
  // What became final just before the last stop need not wait.
  looking = look()
  return {
    async stop() {
      stopped = true
      cancel()
      await looking
    },
  }
}
