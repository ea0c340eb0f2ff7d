/**
 * Sends TLS reports to recipient domains (RFC 8460): each day's counts are sent in the following night, to the
 * addresses that the domains publish in DNS. Also a public module of this folder.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { newId } from '../mail/ids.ts'
import { parseMailtoAddress, parseTlsReportRecord, formatUtcDay } from '../mail/tls-report.ts'
import type { Storage } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import type { GuardedFetch } from '../wire/fetch.ts'
import {
  compressReport,
  TLSRPT_GZIP,
  buildTlsReport,
  buildTlsReportEmail,
  type TlsReportFacts,
} from './tls-report.ts'

export interface TlsReporter {
  start(): void
  /** Sends all due reports now, regardless of the time. Resolves to the number of reports sent. */
  sendDue(): Promise<number>
  stop(): Promise<void>
}

export interface TlsReporterDeps {
  storage: Pick<
    Storage,
    'dueTlsReports' | 'tlsResultsOf' | 'saveTlsReport' | 'put' | 'firstTeam' | 'findDomain'
  >
  resolver: Pick<Resolver, 'resolve'>
  /** Refuses addresses that are not public. */
  fetch: GuardedFetch
  clock: Clock
  log: Logger
  hostname: string
  /** `tls_reports.from`; no reports are sent if undefined. */
  from: string | undefined
  /** `tls_reports.contact`; defaults to `from`. */
  contact: string | undefined
  /** Decides which node sends reports. Default: this process is the only one. */
  duties?: Duties | undefined
  /** Notifies the dispatcher that a delivery is due. */
  onStored: () => void
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How often to look for due reports, in milliseconds. */
const EVERY = 15 * MINUTE
/**
 * Sending starts within this time after midnight (milliseconds), at a different time each night, so that not all
 * reporters send at once (RFC 8460 §4.1).
 */
const SPREAD = 4 * HOUR
/** Number of days after the reported day on which a failed report is retried. */
const TRIED_DAYS = 2
/** Number of reports read at a time. */
const STEP = 100
const RECEIPT_SCOPE = 'tls-report'

/**
 * Returns how long after midnight UTC sending of the previous day's reports starts, in milliseconds. Pure: constant for
 * each night.
 */
export function computeStartDelay(hostname: string, day: string): number {
  const digest = createHash('sha256').update(`${hostname} ${day}`).digest()
  return Math.floor((digest.readUInt32BE(0) / 0x1_0000_0000) * SPREAD)
}

/** Creates the reporter. `start()` starts it. */
export function createTlsReporter(deps: TlsReporterDeps): TlsReporter {
  const { clock, log, hostname, from } = deps
  let stopped = true
  let cancel = (): void => undefined
  let running: Promise<unknown> = Promise.resolve()

  const look = async (): Promise<void> => {
    try {
      const now = clock.now()
      if (now % DAY >= computeStartDelay(hostname, formatUtcDay(now)))
        await createRound(deps, () => stopped)()
    } catch (error) {
      log.error({ err: error }, 'TLS reports are delayed: the storage is not responding; they stay due')
    }
    if (!stopped) cancel = clock.after(EVERY, again)
  }
  const again = (): void => {
    running = look()
  }

  return {
    start() {
      if (from === undefined) return
      stopped = false
      again()
    },
    sendDue: () => createRound(deps, () => false)(),
    async stop() {
      stopped = true
      cancel()
      await running
    },
  }
}

interface Sender {
  teamId: string
  domainId: string
  from: string
}

/** Creates a function that sends all due reports once. */
function createRound(deps: TlsReporterDeps, isStopped: () => boolean): () => Promise<number> {
  const { storage, clock, log, from } = deps
  const onDuty = createDutyCheck(deps.duties, 'TLS reports')
  return async () => {
    if (from === undefined) return 0
    const now = clock.now()
    const range = { since: formatUtcDay(now - (TRIED_DAYS + 1) * DAY), before: formatUtcDay(now) }
    const readDue = (after?: { day: string; domain: string }) =>
      storage.dueTlsReports({ ...range, after, limit: STEP }, now)
    let due = await readDue()
    if (due.length === 0 || !(await onDuty())) return 0
    const sender = await senderOf(from, deps)
    if (typeof sender === 'string') {
      log.warn({ from, reports: due.length }, `TLS reports are not sent: ${sender}`)
      return 0
    }
    let sent = 0
    while (due.length > 0) {
      for (const one of due) {
        if (isStopped()) return sent
        if (await report(one, sender, deps)) sent += 1
      }
      // Domains that can't be reached stay due, so the next page begins after them.
      due = await readDue(due.at(-1))
    }
    return sent
  }
}

/** Returns the domain that signs the reports, in the server owner's team, or why there is none. */
async function senderOf(from: string, { storage, clock }: TlsReporterDeps): Promise<Sender | string> {
  const now = clock.now()
  const name = from.slice(from.lastIndexOf('@') + 1).toLowerCase()
  const team = await storage.firstTeam({}, now)
  if (!team) return 'this server has not been set up yet'
  const domain = await storage.findDomain({ teamId: team.id, name }, now)
  if (domain?.status !== 'verified')
    return `tls_reports.from uses ${name}, which is not a verified domain of the first team`
  return { teamId: team.id, domainId: domain.id, from }
}

/** Sends the report of one day to one domain. Returns whether a report was sent. */
async function report(
  { day, domain }: { day: string; domain: string },
  sender: Sender,
  deps: TlsReporterDeps,
): Promise<boolean> {
  const { storage, resolver, clock, log, hostname, contact } = deps
  const end = async (state: 'sent' | 'none' | 'failed', note: string): Promise<boolean> => {
    await storage.saveTlsReport({ day, domain, state, note, at: clock.now() }, clock.now())
    if (state !== 'none') log.info({ domain, day, state }, `TLS report: ${note}`)
    return state === 'sent'
  }
  const isLate = clock.now() >= Date.parse(`${day}T00:00:00Z`) + (TRIED_DAYS + 1) * DAY - HOUR
  const answer = await resolver.resolve(`_smtp._tls.${domain}`, 'TXT')
  if (answer.kind === 'failed') return isLate ? end('failed', answer.note) : false
  const targets = parseTlsReportRecord(answer.kind === 'found' ? answer.records : [])
  if (targets.kind === 'none') return end('none', `${domain} does not request reports.`)
  if (targets.kind === 'invalid') return end('none', `The TXT record _smtp._tls.${domain} ${targets.why}.`)
  const results = await storage.tlsResultsOf({ day, domain }, clock.now())
  const facts: TlsReportFacts = { hostname, contact: contact ?? sender.from, day, domain, results }
  const packed = compressReport(buildTlsReport(facts))
  const problems: string[] = []
  for (const uri of targets.uris) {
    const problem = await submit(uri, { facts, packed, sender }, deps)
    if (problem !== null) problems.push(`${uri} ${problem}`)
  }
  const done = targets.uris.length - problems.length
  if (done > 0)
    return end('sent', [`Sent to ${done} of ${targets.uris.length} addresses.`, ...problems].join(' '))
  return isLate ? end('failed', problems.join('; ')) : false
}

/** Sends a report to one address. Returns null on success, otherwise why it failed. */
async function submit(
  uri: string,
  made: { facts: TlsReportFacts; packed: Uint8Array; sender: Sender },
  deps: TlsReporterDeps,
): Promise<string | null> {
  if (/^https:/i.test(uri)) return post(uri, made.packed, deps)
  const to = parseMailtoAddress(uri)!
  const { storage, clock, onStored } = deps
  const now = clock.now()
  const { teamId } = made.sender
  const id = newId(now)
  const email = buildTlsReportEmail(made.facts, made.packed, {
    ...made.sender,
    id,
    deliveryId: newId(now),
    to,
    now,
  })
  // The idempotency key prevents duplicates when a round is repeated.
  const key = `${made.facts.day} ${made.facts.domain} ${to}`
  const receipt = {
    teamId,
    scope: RECEIPT_SCOPE,
    key,
    fingerprint: '',
    body: '',
    emailIds: [id],
    expiresAt: now + 7 * DAY,
  }
  await storage.put({ emails: [email], receipt, quota: null }, now)
  onStored()
  return null
}

class Enough extends Error {}

/** Posts a report (RFC 8460 §5.4). Only the status of the response matters. */
async function post(uri: string, packed: Uint8Array, { fetch }: TlsReporterDeps): Promise<string | null> {
  try {
    const request = { post: { body: packed, contentType: TLSRPT_GZIP } }
    const said = await fetch(
      new URL(uri),
      () => {
        throw new Enough()
      },
      request,
    )
    return said.kind === 'failed' ? said.note : null
  } catch (error) {
    if (error instanceof Enough) return null
    throw error
  }
}
