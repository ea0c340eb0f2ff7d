/** Reports how far a domain's records have propagated: what each authoritative server of the zone answers now. */
import type { Clock } from '../clock/clock.ts'
import type { RecordType, Resolver, AuthorityAnswers, AuthorityResolver } from '../dns/dns.ts'
import { refuse } from '../mail/refusals.ts'
import type { Domain, RecordCheck, Storage } from '../storage/storage.ts'
import { checkOrganizationalDomain, noMistakes, findCommonMistakes } from './check.ts'
import {
  buildExpectedRecords,
  getRegistrableDomain,
  type ExpectedRecord,
  type SendingHost,
} from './records.ts'
import { evaluateRecord, type CommonMistakes, type Evidence, type RecordResult } from './verification.ts'

/** One server's answer for one record. */
export interface ServerAnswer {
  host: string
  status: RecordCheck['status']
  found: readonly string[]
  note: string | null
}

/** The propagation of one record to all servers of its zone. */
export interface RecordPropagation {
  expected: ExpectedRecord
  /** The zone of the servers; null if it wasn't found. */
  zone: string | null
  /** `partial` means that only some servers have the record. */
  status: RecordCheck['status'] | 'partial'
  /** What is wrong and what to do; null if nothing is wrong. */
  note: string | null
  servers: ServerAnswer[]
}

/** All records of a domain as published at `at` (Unix milliseconds). */
export interface Propagation {
  at: number
  records: RecordPropagation[]
}

/** Checks propagation for people who have just changed their DNS. */
export interface PropagationWatch {
  /**
   * Checks now, or returns a result from a few seconds ago.
   * Refuses: `too_many_attempts` if too many domains are being checked.
   */
  look(domain: Domain): Promise<Propagation>
}

/** Dependencies of the propagation watch. */
export interface PropagationDeps {
  storage: Pick<Storage, 'dkimKeys'>
  resolver: Resolver & AuthorityResolver
  clock: Clock
  config: SendingHost
}

/**
 * How long a result is reused, in milliseconds. One check sends dozens of queries, and many people may watch a page.
 */
const KEPT = 4000
/** Maximum number of domains checked in parallel. */
const MOST = 8

/**
 * Shares results, so that the number of queries to other people's name servers doesn't depend on how many people watch
 * a page.
 */
export function createPropagationWatch(deps: PropagationDeps): PropagationWatch {
  const { clock } = deps
  const looks = new Map<string, { begun: number; running: boolean; result: Promise<Propagation> }>()
  return {
    look(domain) {
      const now = clock.now()
      for (const [id, { begun, running }] of looks)
        if (!running && (now - begun >= KEPT || now < begun)) looks.delete(id)
      const known = looks.get(domain.id)
      if (known) return known.result
      if ([...looks.values()].filter(({ running }) => running).length >= MOST)
        return Promise.reject(refuse('too_many_attempts', { seconds: KEPT / 1000 }))
      const entry = { begun: now, running: true, result: lookAt(domain, deps) }
      looks.set(domain.id, entry)
      entry.result.then(
        () => (entry.running = false),
        () => looks.delete(domain.id),
      )
      return entry.result
    },
  }
}

async function lookAt(domain: Domain, deps: PropagationDeps): Promise<Propagation> {
  const { storage, resolver, clock, config } = deps
  const keys = await storage.dkimKeys({ domainId: domain.id }, clock.now())
  const expected = buildExpectedRecords(domain, keys, config)
  const records = await Promise.all(expected.map((one) => follow(resolver, domain, one)))
  return { at: clock.now(), records }
}

/** Queries every server for one record, and searches elsewhere if none has it. */
async function follow(
  resolver: Resolver & AuthorityResolver,
  domain: Domain,
  expected: ExpectedRecord,
): Promise<RecordPropagation> {
  const survey = await resolver.survey(expected.fqdn, expected.type)
  if (survey.kind === 'failed')
    return { expected, zone: null, status: 'temporary_failure', note: survey.note, servers: [] }
  const answers = answersOf(expected, survey)
  const opinions = answers.map(({ host, evidence }) => ({ host, ...evaluateRecord(expected, evidence) }))
  const servers = opinions.map(({ host, status, found, note }) => ({ host, status, found, note }))
  const told = { expected, zone: survey.zone, servers }
  const summary = summarizePropagation(servers)
  if (summary.status !== 'pending') return { ...told, ...summary }
  const absent = answers[opinions.findIndex(({ status }) => status === 'pending')]!
  return { ...told, ...(await searchFor(resolver, domain, expected, absent.evidence)) }
}

/** Searches for a record that no server has at its name. */
async function searchFor(
  resolver: Resolver,
  domain: Domain,
  expected: ExpectedRecord,
  evidence: Evidence,
): Promise<Pick<RecordPropagation, 'status' | 'note'>> {
  // Bypass the caches, so that new mistakes show up and fixed ones disappear.
  const fresh: Resolver = {
    ...resolver,
    resolve: (name, type) => resolver.resolveAuthoritative(name, type),
  }
  const elsewhere: CommonMistakes = await findCommonMistakes(fresh, domain, expected)
  const opinion: RecordResult = evaluateRecord(expected, { ...evidence, elsewhere })
  const { status, note } = opinion
  if (expected.record !== 'DMARC' || status !== 'pending') return { status, note }
  const above = await checkOrganizationalDomain(fresh, domain, expected, opinion)
  return above.status === 'verified'
    ? {
        status: 'verified',
        note: `The policy at _dmarc.${getRegistrableDomain(domain.name)} covers this domain.`,
      }
    : { status, note }
}

/** Summarizes the answers of all servers. Servers that don't answer are ignored. */
export function summarizePropagation(
  servers: readonly ServerAnswer[],
): Pick<RecordPropagation, 'status' | 'note'> {
  const telling = servers.filter(({ status }) => status !== 'temporary_failure')
  if (telling.length === 0)
    return {
      status: 'temporary_failure',
      note: servers[0]?.note ?? 'The zone has no name server that could be queried.',
    }
  const having = telling.filter(({ status }) => status === 'verified')
  if (having.length === telling.length) return { status: 'verified', note: null }
  if (having.length > 0)
    return {
      status: 'partial',
      note: `${having.length} of ${telling.length} name servers have it. The others usually follow within minutes.`,
    }
  const wrong = telling.find(({ status }) => status === 'failed')
  return wrong ? { status: 'failed', note: wrong.note } : { status: 'pending', note: telling[0]!.note }
}

type Told = { host: string; evidence: Evidence }[]

/** Converts the servers' answers to evidence, by the queried type. */
function answersOf(expected: ExpectedRecord, survey: AuthorityAnswers<RecordType> & { kind: 'asked' }): Told {
  return survey.servers.map(({ host, answer }) => ({
    host,
    evidence: { type: expected.type, answer, elsewhere: noMistakes } as Evidence,
  }))
}
