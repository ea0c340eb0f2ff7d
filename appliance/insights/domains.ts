/** Checks the DNS records of a sending domain without changing its stored state. */
import type { Resolver } from '../dns/dns.ts'
import { OTHER_TEAMS, type Finding } from '../mail/finding.ts'
import { buildReportAddress, type ReportAddressFields } from '../mail/report-address.ts'
import { isPolicyWithoutEffect, checkRecords } from '../senders/check.ts'
import { buildExpectedRecords, type ExpectedRecord, type SendingHost } from '../senders/records.ts'
import { formatTeam, type OtherTeam } from '../sources/sources.ts'
import type { DkimKey, Domain, RecordCheck } from '../storage/storage.ts'

/** The observed state of a record. */
export interface ObservedRecord {
  record: ExpectedRecord
  check: Pick<RecordCheck, 'status' | 'note' | 'found'>
}

/** Looks up all records of a domain. Never rejects. */
export async function lookUpDomain(
  resolver: Resolver,
  domain: Domain,
  keys: readonly DkimKey[],
  host: SendingHost,
): Promise<ObservedRecord[]> {
  const records = buildExpectedRecords(domain, keys, host)
  const checks = await checkRecords(resolver, domain, records)
  return records.flatMap((record) => {
    const check = checks.find(({ key }) => key === record.key)
    return check ? [{ record, check }] : []
  })
}

/** Evaluates the records of a domain. */
export function evaluateDomain(
  domain: ReportAddressFields,
  seen: readonly ObservedRecord[],
  team: OtherTeam | null = null,
): Finding {
  const { name } = domain
  const about = team
    ? { id: `${OTHER_TEAMS}${team.id}:domain:${name}`, title: `Records of ${name} (${formatTeam(team)})` }
    : { id: `domain:${name}`, title: `Records of ${name}` }
  const isBad = ({ check }: ObservedRecord): boolean =>
    check.status === 'failed' || check.status === 'pending'
  const advice = `To see the records to publish, run: posthaste domain show ${name}${team ? ` --team ${team.id}` : ''}`
  const tell = (bad: readonly ObservedRecord[]): string =>
    bad
      .map(({ record, check }) => `${record.record} (${record.type} ${record.fqdn}): ${check.note ?? ''}`)
      .join(' ')
  const wrong = seen.filter((one) => one.record.required && isBad(one))
  if (wrong.length > 0) return { ...about, status: 'failed', found: tell(wrong), advice }
  const unclear = seen.filter(({ record, check }) => record.required && check.status === 'temporary_failure')
  if (unclear.length > 0) return { ...about, status: 'skipped', found: tell(unclear), advice: null }
  const missing = seen.filter((one) => one.record.label === 'recommended' && isBad(one))
  if (missing.length > 0) return { ...about, status: 'warning', found: tell(missing), advice }
  const found = 'All required records are published.'
  const tls = seen.find((one) => one.record.key === 'TLS-RPT' && isBad(one))
  const dmarc = seen.find(({ record }) => record.key === 'DMARC')
  if (dmarc?.check.status === 'verified' && isPolicyWithoutEffect(dmarc.check.found))
    return {
      ...about,
      status: 'ok',
      found: `${found} The DMARC policy is p=none without rua, so receivers neither enforce it nor send reports.`,
      advice: `Add rua=mailto:${buildReportAddress(domain)} to the record at ${dmarc.record.fqdn}: receivers then send daily reports about mail that claims to be from ${name}.`,
    }
  if (!tls) return { ...about, status: 'ok', found, advice: null }
  // The record is optional, but one that senders ignore is a mistake.
  return {
    ...about,
    status: tls.check.status === 'failed' ? 'warning' : 'ok',
    found: `${found} ${tell([tls])}`,
    advice: `Publish ${tls.record.value} at ${tls.record.fqdn}, or add its address to the record there: senders then report daily whether TLS works for mail to ${name}.`,
  }
}
