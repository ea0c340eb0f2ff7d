/** Checks a domain: looks up its records, decides the status of the domain and its keys, and stores both. */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import type { DkimKey, DkimKeyChange, Domain, RecordCheck, Storage } from '../storage/storage.ts'
import { lookUpOptionalRecords, isOptionalCheck } from './recommended.ts'
import { checkRecords } from './check.ts'
import { advanceVerification, startVerification, maySend, summarizeChecks } from './verification-schedule.ts'
import { buildExpectedRecords, isExtensionRecord, type SendingHost, type ExpectedRecord } from './records.ts'
import { computeNextKeyCheck, findNextRetirement, advanceKeyStates } from './rotation.ts'
import type { RecordResult } from './verification.ts'
import type { EventDomain } from '../mail/event.ts'

export interface DomainCheckDeps {
  storage: Pick<Storage, 'dkimKeys' | 'saveDomainCheck' | 'isDomainHeld'>
  resolver: Resolver
  clock: Clock
  config: SendingHost
  /** Returns a random number in [0, 1). */
  random: () => number
}

/** The result of a check. */
export interface DomainCheckResult {
  status: Domain['status']
  suspect: Domain['suspect']
  checks: RecordCheck[]
  keys: DkimKeyChange[]
  /** False if the domain was changed or removed at the same time, so that nothing was stored. */
  saved: boolean
}

/**
 * Looks up all records of a domain and stores the result.
 * @param asked whether a person requested the check, which starts a verification and stores the result even if another
 * check changed the domain meanwhile
 */
export async function checkDomainRecords(
  domain: Domain,
  asked: boolean,
  deps: DomainCheckDeps,
): Promise<DomainCheckResult> {
  const { storage, resolver, clock, config, random } = deps
  const keys = await storage.dkimKeys({ domainId: domain.id }, clock.now())
  const expected = buildExpectedRecords(domain, keys, config)
  const [needed, advised] = await Promise.all([
    checkRecords(resolver, domain, expected),
    lookUpOptionalRecords(resolver, domain.name, expected),
  ])

  const now = clock.now()
  const held = await storage.isDomainHeld({ id: domain.id }, now)
  const judged = held ? needed.map(heldByAnother) : needed
  const checks = dated([...judged, ...advised], domain.checks, now)
  const changes = advanceKeyStates(keys, checks, now, maySend(domain.status))
  const turned = afterwards(keys, changes)
  // Evaluate with the keys' new states: after a rotation, the old key's record is no longer required.
  const summary = summarizeChecks(buildExpectedRecords(domain, turned, config), checks)
  const begun = asked ? startVerification(domain, now) : { status: domain.status, watch: domain }
  const { status, watch } = advanceVerification(
    { ...domain, ...begun.watch, status: begun.status },
    summary,
    now,
    random(),
  )

  const times = [watch.nextCheckAt, findNextRetirement(turned), computeNextKeyCheck(turned, now)]
  const nextCheckAt = Math.min(...times.filter((time): time is number => typeof time === 'number'))
  const { teamId, id } = domain
  const seen = { ...domain, status, checks }
  const told = isReportable(domain, seen)
    ? toEventDomain(seen, buildExpectedRecords(domain, turned, config))
    : undefined
  const saved = await storage.saveDomainCheck(
    {
      teamId,
      id,
      status,
      checks,
      keys: changes,
      told,
      watch: { ...watch, nextCheckAt },
      seen: asked ? undefined : { status: domain.status, nextCheckAt: domain.nextCheckAt },
    },
    now,
  )
  return { status, suspect: watch.suspect, checks, keys: changes, saved }
}

/**
 * Marks a record as held by another team. Teams' records differ in their DKIM keys, so this is where the later team is
 * stopped.
 */
function heldByAnother(opinion: RecordResult): RecordResult {
  const proof = opinion.status === 'verified' && opinion.key.startsWith('DKIM ')
  return proof ? { ...opinion, status: 'failed', note: HELD } : opinion
}

const HELD = 'Another team on this server has verified this domain, and must remove it first.'

/** Adds the time of the check to each opinion, and since when its status has been the same. */
function dated(opinions: RecordResult[], before: readonly RecordCheck[], now: number): RecordCheck[] {
  return opinions.map((opinion) => {
    const last = before.find(({ key }) => key === opinion.key)
    return { ...opinion, checkedAt: now, since: last?.status === opinion.status ? last.since : now }
  })
}

function afterwards(keys: readonly DkimKey[], changes: readonly DkimKeyChange[]): DkimKey[] {
  return keys.map((key) => ({ ...key, ...changes.find(({ id }) => id === key.id) }))
}

/**
 * Formats a domain and its required records for events. Omits DMARC and TLS-RPT, which are not part of the wire format.
 */
export function toEventDomain(domain: Domain, records: readonly ExpectedRecord[]): EventDomain {
  const { id, name, status, region, createdAt, sending, receiving, checks } = domain
  return {
    id,
    name,
    status,
    region,
    createdAt,
    sending,
    receiving,
    records: records
      .filter((record) => !isExtensionRecord(record))
      .map(({ key, record, name: owner, type, value, priority }) => ({
        record,
        name: owner,
        type,
        value,
        priority,
        status: checks.find((check) => check.key === key)?.status ?? 'not_started',
      })),
  }
}

/** Whether a webhook should report a check: the status of the domain or a record has changed. */
export function isReportable(before: Domain, after: Pick<Domain, 'status' | 'checks'>): boolean {
  if (before.status !== after.status) return true
  const statuses = ({ checks }: Pick<Domain, 'checks'>) => new Map(checks.map((one) => [one.key, one.status]))
  const [old, fresh] = [statuses(before), statuses(after)]
  return [...fresh].some(
    ([key, status]) => !isOptionalCheck(key) && (old.get(key) ?? 'not_started') !== status,
  )
}
