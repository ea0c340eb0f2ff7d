/** Looks up a domain's published records. verification.ts evaluates them. */
import type { Answer, RecordType, Resolver } from '../dns/dns.ts'
import type { Domain } from '../storage/storage.ts'
import { getRegistrableDomain, type ExpectedRecord } from './records.ts'
import { evaluateRecord, type CommonMistakes, type Evidence, type RecordResult } from './verification.ts'

export { isPolicyWithoutEffect } from './evaluate-spf.ts'

/** Checks every expected record in parallel. DNS errors never make it throw. */
export function checkRecords(
  resolver: Resolver,
  domain: Pick<Domain, 'name'>,
  records: readonly ExpectedRecord[],
): Promise<RecordResult[]> {
  return Promise.all(
    records.map(async (record) => {
      const check = await checkAt(resolver, domain, record)
      return check.status === 'pending' && record.record === 'DMARC'
        ? checkOrganizationalDomain(resolver, domain, record, check)
        : check
    }),
  )
}

const NO_CNAME: Answer<'CNAME'> = { kind: 'absent', why: 'nodata', ttl: 0, authentic: false }
/** The initial value, before the record is searched for at other names. */
export const noMistakes: CommonMistakes = { misplaced: null, cname: null }

async function checkAt(
  resolver: Resolver,
  domain: Pick<Domain, 'name'>,
  record: ExpectedRecord,
): Promise<RecordResult> {
  const evidence = await lookUp(resolver, record, record.fqdn)
  const check = evaluateRecord(record, evidence)
  if (check.status !== 'pending') return checkBehind(resolver, record, check)
  return evaluateRecord(record, {
    ...evidence,
    elsewhere: await findCommonMistakes(resolver, domain, record),
  })
}

/**
 * Looks for a DMARC policy of the organizational domain, which covers its subdomains (RFC 9989, the tree walk; two
 * steps are enough in practice).
 */
export async function checkOrganizationalDomain(
  resolver: Resolver,
  domain: Pick<Domain, 'name'>,
  record: ExpectedRecord,
  check: RecordResult,
): Promise<RecordResult> {
  const zone = getRegistrableDomain(domain.name)
  if (zone === domain.name) return check
  const fqdn = `_dmarc.${zone}`
  const above = evaluateRecord({ ...record, fqdn }, await lookUp(resolver, record, fqdn))
  return above.status === 'verified' ? above : check
}

/**
 * Checks that an alias leads to the key. A correct alias is not enough: our DNS server may be unreachable from outside,
 * or not have a new key yet.
 */
async function checkBehind(
  resolver: Resolver,
  expected: ExpectedRecord,
  alias: RecordResult,
): Promise<RecordResult> {
  const { behind, fqdn, value } = expected
  if (typeof behind !== 'string' || alias.status !== 'verified') return alias
  const key: ExpectedRecord = { ...expected, type: 'TXT', value: behind }
  const opinion = evaluateRecord(key, await lookUp(resolver, key, fqdn))
  if (opinion.status === 'verified') return alias
  if (opinion.status === 'temporary_failure') return { ...opinion, found: alias.found }
  return {
    ...alias,
    status: 'failed',
    note: `The CNAME record is correct, but ${value} doesn't have the key. The server's operator can find out why with "posthaste doctor".`,
  }
}

async function lookUp(resolver: Resolver, { type }: ExpectedRecord, fqdn: string): Promise<Evidence> {
  if (type === 'MX') return { type, answer: await freshest(resolver, fqdn, type), elsewhere: noMistakes }
  if (type === 'NS') return { type, answer: await freshest(resolver, fqdn, type), elsewhere: noMistakes }
  return type === 'CNAME'
    ? { type, answer: await freshest(resolver, fqdn, type), elsewhere: noMistakes }
    : { type, answer: await freshest(resolver, fqdn, type), elsewhere: noMistakes }
}

/** Queries the zone's own servers, which are up to date. Falls back to the resolver if they can't be reached. */
async function freshest<T extends RecordType>(resolver: Resolver, fqdn: string, type: T): Promise<Answer<T>> {
  const answer = await resolver.resolveAuthoritative(fqdn, type)
  return answer.kind === 'failed' ? resolver.resolve(fqdn, type) : answer
}

/** Returns names at which DNS panels publish a record if the name was entered too long or too short. */
function misplacements({ name }: Pick<Domain, 'name'>, { fqdn, record }: ExpectedRecord): string[] {
  const zone = getRegistrableDomain(name)
  const names = [`${fqdn}.${zone}`, `${fqdn}.${name}`]
  // For a subdomain, the part between the label and the zone is easily forgotten. DMARC and TLS-RPT records of the zone
  // are legitimate, though.
  if (record !== 'DMARC' && record !== 'TLS-RPT' && zone !== name)
    names.push(`${fqdn.slice(0, -name.length - 1)}.${zone}`)
  return [...new Set(names)]
}

/** Searches for a missing record at the names of common mistakes, and for what blocks it. */
export async function findCommonMistakes(
  resolver: Resolver,
  domain: Pick<Domain, 'name'>,
  record: ExpectedRecord,
): Promise<CommonMistakes> {
  const [cname, addresses, ...places] = await Promise.all([
    // If the record should be a CNAME, the lookup has already found none.
    record.type === 'CNAME' ? NO_CNAME : resolver.resolve(record.fqdn, 'CNAME'),
    // A proxy answers with its own IPs instead of a CNAME.
    record.type === 'CNAME' ? resolver.resolve(record.fqdn, 'A') : NO_CNAME,
    ...misplacements(domain, record).map(async (name) => {
      const answer = await resolver.resolve(name, record.type)
      const evidence = { type: record.type, answer, elsewhere: noMistakes } as Evidence
      return evaluateRecord({ ...record, fqdn: name }, evidence).status === 'verified' ? name : null
    }),
  ])
  return {
    misplaced: places.find((place) => place !== null) ?? null,
    cname: cname.kind === 'found' ? (cname.records[0] ?? null) : null,
    proxied: addresses.kind === 'found',
  }
}
