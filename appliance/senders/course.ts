/**
 * How the verification of a domain goes on: from what was seen to the domain's next status and the next look. Pure.
 *
 * One bad answer never stops mail: a domain that was verified is downgraded only when a second look, a while after the
 * first, finds the same. What DNS could not tell changes nothing.
 */
import type { Domain, DomainStatus, DomainWatch, RecordCheck } from '../storage/storage.ts'
import type { ExpectedRecord } from './records.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** How long a verification that was asked for goes on before it has failed. */
const VERIFY_FOR = 72 * hour
/** Looks at a verified domain are this far apart, and up to a tenth more, so that they do not all come together. */
const RECHECK_EVERY = day
/** How far apart the two looks are that downgrade a verified domain. */
const CONFIRM_AFTER = 15 * minute

/** What one look at the records says of the domain as a whole. */
export type Sight =
  /** Every required record is right. */
  | 'whole'
  /** The signature's key is right, but the return path is not: mail still passes DMARC, bounces may not come back. */
  | 'partial'
  /** The signature's key is missing or wrong. */
  | 'broken'
  /** Nothing is wrong as far as DNS answered. */
  | 'unknown'

/** Sums up the checks of the required records. */
export function sightOf(records: readonly ExpectedRecord[], checks: readonly RecordCheck[]): Sight {
  const required = records.filter((record) => record.required)
  const statusOf = ({ key }: ExpectedRecord) => checks.find((check) => check.key === key)?.status
  const wrong = required.filter((record) => ['failed', 'pending'].includes(statusOf(record) ?? 'pending'))
  const keys = required.filter(({ record }) => record === 'DKIM')
  if (keys.length === 0 || wrong.some(({ record }) => record === 'DKIM')) return 'broken'
  if (wrong.length > 0) return 'partial'
  return required.every((record) => statusOf(record) === 'verified') ? 'whole' : 'unknown'
}

/** What `advance` decides. */
export interface Step {
  status: DomainStatus
  watch: DomainWatch
}

type Before = Pick<Domain, 'status' | 'statusSince' | 'createdAt'> & DomainWatch

/** Whether mail may be sent: a domain that is only partly broken goes on. */
export function maySend(status: DomainStatus): boolean {
  return status === 'verified' || status === 'partially_failed'
}

/**
 * Begins a verification, as its owner asks for it: the first look is due at once. A domain that may send keeps its status
 * meanwhile, or asking would stop its mail.
 */
export function begin(before: Before, now: number): Step {
  if (maySend(before.status))
    return { status: before.status, watch: { ...watchOf(before), nextCheckAt: now } }
  return { status: 'pending', watch: { verifyUntil: now + VERIFY_FOR, suspect: null, nextCheckAt: now } }
}

/** @param random the dice for the next daily look, in [0, 1) */
export function advance(before: Before, sight: Sight, now: number, random: number): Step {
  if (sight === 'whole')
    return {
      status: 'verified',
      watch: { verifyUntil: null, suspect: null, nextCheckAt: daily(now, random) },
    }
  if (maySend(before.status)) return standing(before, sight, now)
  if (before.verifyUntil !== null && before.status !== 'failed') return pending(before, now)
  return { status: 'failed', watch: brokenWatch(before.statusSince, now) }
}

/** The look-up of a domain could not even be done: nothing changes, and it is tried again soon. */
export function postpone(before: Before, now: number): Step {
  return { status: before.status, watch: { ...watchOf(before), nextCheckAt: now + CONFIRM_AFTER } }
}

const watchOf = ({ verifyUntil, suspect, nextCheckAt }: DomainWatch): DomainWatch => ({
  verifyUntil,
  suspect,
  nextCheckAt,
})

const daily = (now: number, random: number): number => Math.round(now + RECHECK_EVERY * (1 + random / 10))

function standing(before: Before, sight: Exclude<Sight, 'whole'>, now: number): Step {
  const stay = (suspect: DomainWatch['suspect'], nextCheckAt: number): Step => ({
    status: before.status,
    watch: { verifyUntil: null, suspect, nextCheckAt },
  })
  if (sight === 'unknown') return stay(before.suspect, now + (before.suspect ? CONFIRM_AFTER : hour))
  const target = sight === 'broken' ? 'failed' : 'partially_failed'
  if (target === before.status) return stay(null, recoverAt(before.statusSince, now))
  const suspect =
    before.suspect?.status === target ? before.suspect : ({ status: target, since: now } as const)
  if (now - suspect.since < CONFIRM_AFTER) return stay(suspect, suspect.since + CONFIRM_AFTER)
  return { status: target, watch: brokenWatch(now, now) }
}

/** Looks become rarer the longer it takes: a record that was just entered is seen soon, a forgotten one costs little. */
function pending({ verifyUntil }: Before, now: number): Step {
  const until = verifyUntil!
  if (now >= until) return { status: 'failed', watch: brokenWatch(now, now) }
  const elapsed = now - (until - VERIFY_FOR)
  const wait = Math.min(Math.max(elapsed / 2, 30_000), 2 * hour)
  return {
    status: 'pending',
    watch: { verifyUntil: until, suspect: null, nextCheckAt: Math.min(Math.round(now + wait), until) },
  }
}

/** A broken domain recovers by itself when its records return: it is looked at ever more rarely, at least daily. */
function recoverAt(brokenSince: number, now: number): number {
  return Math.round(now + Math.min(Math.max((now - brokenSince) / 2, CONFIRM_AFTER), day))
}

function brokenWatch(since: number, now: number): DomainWatch {
  return { verifyUntil: null, suspect: null, nextCheckAt: recoverAt(since, now) }
}
