/**
 * Decides a domain's next status and its next check based on what was found. Pure.
 *
 * A single bad answer never stops mail: a verified domain is only downgraded if a second check, some time after the
 * first, finds the same problem. A failed lookup changes nothing.
 */
import type { Domain, DomainStatus, VerificationSchedule, RecordCheck } from '../storage/storage.ts'
import type { ExpectedRecord } from './records.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Time after which a requested verification fails. */
const VERIFY_FOR = 72 * hour
/** The interval between checks of a verified domain, plus up to a tenth, so that checks are spread out. */
const RECHECK_EVERY = day
/** The time between the two checks that downgrade a verified domain. */
const CONFIRM_AFTER = 15 * minute

/** The result of one check for the domain as a whole. */
export type CheckSummary =
  /** Every required record is correct. */
  | 'whole'
  /** The DKIM key is correct but the return path isn't: mail passes DMARC, but bounces may not come back. */
  | 'partial'
  /** The DKIM key is missing or wrong. */
  | 'broken'
  /** All answers so far are correct, but some lookups failed. */
  | 'unknown'

/** Summarizes the checks of the required records. */
export function summarizeChecks(
  records: readonly ExpectedRecord[],
  checks: readonly RecordCheck[],
): CheckSummary {
  const required = records.filter((record) => record.required)
  const statusOf = ({ key }: ExpectedRecord) => checks.find((check) => check.key === key)?.status
  const wrong = required.filter((record) => ['failed', 'pending'].includes(statusOf(record) ?? 'pending'))
  const keys = required.filter(({ record }) => record === 'DKIM')
  if (keys.length === 0 || wrong.some(({ record }) => record === 'DKIM')) return 'broken'
  if (wrong.length > 0) return 'partial'
  return required.every((record) => statusOf(record) === 'verified') ? 'whole' : 'unknown'
}

/** The decision of `advanceVerification`. */
export interface VerificationDecision {
  status: DomainStatus
  watch: VerificationSchedule
}

type Before = Pick<Domain, 'status' | 'statusSince' | 'createdAt'> & VerificationSchedule

/** Whether mail may be sent, which includes partly broken domains. */
export function maySend(status: DomainStatus): boolean {
  return status === 'verified' || status === 'partially_failed'
}

/**
 * Starts a verification at the owner's request: the first check is due immediately. A domain that may send keeps its
 * status, so that the request doesn't stop its mail.
 */
export function startVerification(before: Before, now: number): VerificationDecision {
  if (maySend(before.status))
    return { status: before.status, watch: { ...watchOf(before), nextCheckAt: now } }
  return { status: 'pending', watch: { verifyUntil: now + VERIFY_FOR, suspect: null, nextCheckAt: now } }
}

/** @param random a number in [0, 1) that spreads the next daily check */
export function advanceVerification(
  before: Before,
  summary: CheckSummary,
  now: number,
  random: number,
): VerificationDecision {
  if (summary === 'whole')
    return {
      status: 'verified',
      watch: { verifyUntil: null, suspect: null, nextCheckAt: daily(now, random) },
    }
  if (maySend(before.status)) return standing(before, summary, now)
  if (before.verifyUntil !== null && before.status !== 'failed') return pending(before, now)
  return { status: 'failed', watch: brokenWatch(before.statusSince, now) }
}

/** Reschedules a check that failed for internal reasons; the status doesn't change. */
export function postponeCheck(before: Before, now: number): VerificationDecision {
  return { status: before.status, watch: { ...watchOf(before), nextCheckAt: now + CONFIRM_AFTER } }
}

const watchOf = ({ verifyUntil, suspect, nextCheckAt }: VerificationSchedule): VerificationSchedule => ({
  verifyUntil,
  suspect,
  nextCheckAt,
})

const daily = (now: number, random: number): number => Math.round(now + RECHECK_EVERY * (1 + random / 10))

function standing(
  before: Before,
  summary: Exclude<CheckSummary, 'whole'>,
  now: number,
): VerificationDecision {
  const stay = (suspect: VerificationSchedule['suspect'], nextCheckAt: number): VerificationDecision => ({
    status: before.status,
    watch: { verifyUntil: null, suspect, nextCheckAt },
  })
  if (summary === 'unknown') return stay(before.suspect, now + (before.suspect ? CONFIRM_AFTER : hour))
  const target = summary === 'broken' ? 'failed' : 'partially_failed'
  if (target === before.status) return stay(null, recoverAt(before.statusSince, now))
  const suspect =
    before.suspect?.status === target ? before.suspect : ({ status: target, since: now } as const)
  if (now - suspect.since < CONFIRM_AFTER) return stay(suspect, suspect.since + CONFIRM_AFTER)
  return { status: target, watch: brokenWatch(now, now) }
}

/**
 * Schedules checks of a pending domain, less often over time: a record that was just added is found soon, and a
 * forgotten one costs little.
 */
function pending({ verifyUntil }: Before, now: number): VerificationDecision {
  const until = verifyUntil!
  if (now >= until) return { status: 'failed', watch: brokenWatch(now, now) }
  const elapsed = now - (until - VERIFY_FOR)
  const wait = Math.min(Math.max(elapsed / 2, 30_000), 2 * hour)
  return {
    status: 'pending',
    watch: { verifyUntil: until, suspect: null, nextCheckAt: Math.min(Math.round(now + wait), until) },
  }
}

/**
 * Schedules checks of a broken domain, which recovers when its records return: less often over time, but at least
 * daily.
 */
function recoverAt(brokenSince: number, now: number): number {
  return Math.round(now + Math.min(Math.max((now - brokenSince) / 2, CONFIRM_AFTER), day))
}

function brokenWatch(since: number, now: number): VerificationSchedule {
  return { verifyUntil: null, suspect: null, nextCheckAt: recoverAt(since, now) }
}
