/** Looks up a domain's published records. verification.ts judges them. */
import type { Answer, RecordType, Resolver } from '../dns/dns.ts'
import type { Domain } from '../storage/storage.ts'
import { zoneOf, type ExpectedRecord } from './records.ts'
import { judgeRecord, type Elsewhere, type Evidence, type RecordOpinion } from './verification.ts'

export { asksForNothing } from './judge-spf.ts'

/** Checks every expected record in parallel. Never throws because of DNS. */
export function checkRecords(
  resolver: Resolver,
  domain: Pick<Domain, 'name'>,
  records: readonly ExpectedRecord[],
): Promise<RecordOpinion[]> {
  return Promise.all(
    records.map(async (record) => {
      const check = await checkAt(resolver, domain, record)
      return check.status === 'pending' && record.record === 'DMARC'
        ? checkOrganisation(resolver, domain, record, check)
        : check
    }),
  )
}

const NO_CNAME: Answer<'CNAME'> = { kind: 'absent', why: 'nodata', ttl: 0, authentic: false }
/** The value before the record was looked for at other names. */
export const nowhere: Elsewhere = { misplaced: null, cname: null }

async function checkAt(
  resolver: Resolver,
  domain: Pick<Domain, 'name'>,
  record: ExpectedRecord,
): Promise<RecordOpinion> {
  const evidence = await lookUp(resolver, record, record.fqdn)
  const check = judgeRecord(record, evidence)
  if (check.status !== 'pending') return checkBehind(resolver, record, check)
  return judgeRecord(record, { ...evidence, elsewhere: await searchElsewhere(resolver, domain, record) })
}

/**
 * Looks for a DMARC policy of the organizational domain, which covers its subdomains (RFC 9989, the tree walk; two
 * steps suffice in practice).
 */
export async function checkOrganisation(
  resolver: Resolver,
  domain: Pick<Domain, 'name'>,
  record: ExpectedRecord,
  check: RecordOpinion,
): Promise<RecordOpinion> {
  const zone = zoneOf(domain.name)
  if (zone === domain.name) return check
  const fqdn = `_dmarc.${zone}`
  const above = judgeRecord({ ...record, fqdn }, await lookUp(resolver, record, fqdn))
  return above.status === 'verified' ? above : check
}

/**
 * Checks that an alias leads to the key. The key itself counts: our DNS server may not be reachable from outside, or not
 * have a new key yet.
 */
async function checkBehind(
  resolver: Resolver,
  expected: ExpectedRecord,
  alias: RecordOpinion,
): Promise<RecordOpinion> {
  const { behind, fqdn, value } = expected
  if (typeof behind !== 'string' || alias.status !== 'verified') return alias
  const key: ExpectedRecord = { ...expected, type: 'TXT', value: behind }
  const opinion = judgeRecord(key, await lookUp(resolver, key, fqdn))
  if (opinion.status === 'verified') return alias
  if (opinion.status === 'temporary_failure') return { ...opinion, found: alias.found }
  return {
    ...alias,
    status: 'failed',
    note: `The CNAME record is correct, but ${value} doesn't have the key. The server's operator can find out why with "posthaste doctor".`,
  }
}

async function lookUp(resolver: Resolver, { type }: ExpectedRecord, fqdn: string): Promise<Evidence> {
  if (type === 'MX') return { type, answer: await freshest(resolver, fqdn, type), elsewhere: nowhere }
  if (type === 'NS') return { type, answer: await freshest(resolver, fqdn, type), elsewhere: nowhere }
  return type === 'CNAME'
    ? { type, answer: await freshest(resolver, fqdn, type), elsewhere: nowhere }
    : { type, answer: await freshest(resolver, fqdn, type), elsewhere: nowhere }
}

/** Asks the zone's own servers, which are up to date. Falls back to the resolver when they can't be reached. */
async function freshest<T extends RecordType>(resolver: Resolver, fqdn: string, type: T): Promise<Answer<T>> {
  const answer = await resolver.resolveAuthoritative(fqdn, type)
  return answer.kind === 'failed' ? resolver.resolve(fqdn, type) : answer
}

/** Returns names where DNS panels put a record when the name was entered too long or too short. */
function misplacements({ name }: Pick<Domain, 'name'>, { fqdn, record }: ExpectedRecord): string[] {
  const zone = zoneOf(name)
  const names = [`${fqdn}.${zone}`, `${fqdn}.${name}`]
  // For a subdomain, the part between label and zone is easily forgotten. DMARC and TLS-RPT records at the zone
  // are legitimate, though.
  if (record !== 'DMARC' && record !== 'TLS-RPT' && zone !== name)
    names.push(`${fqdn.slice(0, -name.length - 1)}.${zone}`)
  return [...new Set(names)]
}

/** Searches for a missing record: at the names of common mistakes, and for what blocks it. */
export async function searchElsewhere(
  resolver: Resolver,
  domain: Pick<Domain, 'name'>,
  record: ExpectedRecord,
): Promise<Elsewhere> {
  const [cname, addresses, ...places] = await Promise.all([
    // For a record that is a CNAME itself, nothing else was found.
    record.type === 'CNAME' ? NO_CNAME : resolver.resolve(record.fqdn, 'CNAME'),
    // A proxy answers for a CNAME with its own IPs.
    record.type === 'CNAME' ? resolver.resolve(record.fqdn, 'A') : NO_CNAME,
    ...misplacements(domain, record).map(async (name) => {
      const answer = await resolver.resolve(name, record.type)
      const evidence = { type: record.type, answer, elsewhere: nowhere } as Evidence
      return judgeRecord({ ...record, fqdn: name }, evidence).status === 'verified' ? name : null
    }),
  ])
  return {
    misplaced: places.find((place) => place !== null) ?? null,
    cname: cname.kind === 'found' ? (cname.records[0] ?? null) : null,
    proxied: addresses.kind === 'found',
  }
}
