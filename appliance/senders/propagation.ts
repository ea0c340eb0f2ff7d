/** How far the records of a domain have come: what each authoritative server of its zone answers at this moment. */
import type { Clock } from '../clock/clock.ts'
import type { RecordType, Resolver, Survey, Surveyor } from '../dns/dns.ts'
import { refuse } from '../mail/refusals.ts'
import type { Domain, RecordCheck, Storage } from '../storage/storage.ts'
import { checkOrganisation, nowhere, searchElsewhere } from './check.ts'
import { expectedRecords, zoneOf, type ExpectedRecord, type SendingHost } from './records.ts'
import { judgeRecord, type Elsewhere, type Evidence, type RecordOpinion } from './verification.ts'

/** What one server answers for one record. */
export interface ServerAnswer {
  host: string
  status: RecordCheck['status']
  found: readonly string[]
  note: string | null
}

/** One record on its way to all servers of its zone. */
export interface RecordPropagation {
  expected: ExpectedRecord
  /** The zone that the servers are of; null where it could not be found. */
  zone: string | null
  /** `partial`: some servers have it, others not yet. */
  status: RecordCheck['status'] | 'partial'
  /** What is wrong and what to do; null: nothing. */
  note: string | null
  servers: ServerAnswer[]
}

/** All records of a domain, as they were published at `at` (Unix milliseconds). */
export interface Propagation {
  at: number
  records: RecordPropagation[]
}

/** Looks at domains for people who have just changed their DNS. */
export interface PropagationWatch {
  /** Looks now, or shares the look of a moment ago. Refuses: `too_many_attempts` when too many domains are looked at. */
  look(domain: Domain): Promise<Propagation>
}

/** What the watch stands on. */
export interface PropagationDeps {
  storage: Pick<Storage, 'dkimKeys'>
  resolver: Resolver & Surveyor
  clock: Clock
  config: SendingHost
}

/** How long a look is given out again, in milliseconds: it asks some dozens of questions, and many may watch one page. */
const KEPT = 4000
/** Domains looked at side by side. */
const MOST = 8

/** Shares looks, so that watching a page costs other people's name servers no more than one person does. */
export function createPropagation(deps: PropagationDeps): PropagationWatch {
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
  const expected = expectedRecords(domain, keys, config)
  const records = await Promise.all(expected.map((one) => follow(resolver, domain, one)))
  return { at: clock.now(), records }
}

/** Asks every server for one record, and looks for it elsewhere when none has it. */
async function follow(
  resolver: Resolver & Surveyor,
  domain: Domain,
  expected: ExpectedRecord,
): Promise<RecordPropagation> {
  const survey = await resolver.survey(expected.fqdn, expected.type)
  if (survey.kind === 'failed')
    return { expected, zone: null, status: 'temporary_failure', note: survey.note, servers: [] }
  const answers = answersOf(expected, survey)
  const opinions = answers.map(({ host, evidence }) => ({ host, ...judgeRecord(expected, evidence) }))
  const servers = opinions.map(({ host, status, found, note }) => ({ host, status, found, note }))
  const told = { expected, zone: survey.zone, servers }
  const summary = summarise(servers)
  if (summary.status !== 'pending') return { ...told, ...summary }
  const absent = answers[opinions.findIndex(({ status }) => status === 'pending')]!
  return { ...told, ...(await searchFor(resolver, domain, expected, absent.evidence)) }
}

/** Where a record is that no server has at its name. */
async function searchFor(
  resolver: Resolver,
  domain: Domain,
  expected: ExpectedRecord,
  evidence: Evidence,
): Promise<Pick<RecordPropagation, 'status' | 'note'>> {
  // Past the caches: a mistake that was just made is to be seen, and one that was mended to be gone.
  const fresh: Resolver = {
    ...resolver,
    resolve: (name, type) => resolver.resolveAuthoritative(name, type),
  }
  const elsewhere: Elsewhere = await searchElsewhere(fresh, domain, expected)
  const opinion: RecordOpinion = judgeRecord(expected, { ...evidence, elsewhere })
  const { status, note } = opinion
  if (expected.record !== 'DMARC' || status !== 'pending') return { status, note }
  const above = await checkOrganisation(fresh, domain, expected, opinion)
  return above.status === 'verified'
    ? { status: 'verified', note: `The policy at _dmarc.${zoneOf(domain.name)} covers this domain.` }
    : { status, note }
}

/** What the answers of all servers come to. Servers that do not answer leave it to the others. */
export function summarise(servers: readonly ServerAnswer[]): Pick<RecordPropagation, 'status' | 'note'> {
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

/** The answers as evidence, by the type that was asked for. */
function answersOf(expected: ExpectedRecord, survey: Survey<RecordType> & { kind: 'asked' }): Told {
  return survey.servers.map(({ host, answer }) => ({
    host,
    evidence: { type: expected.type, answer, elsewhere: nowhere } as Evidence,
  }))
}
