import { isOptionalCheck } from '../senders/recommended.ts'
import type { ExpectedRecord } from '../senders/records.ts'
import type { ReverseDns } from '../senders/reverse-dns.ts'
import type { PublicKey } from '../senders/senders.ts'
import type { DkimKeyState, Domain, RecordStatus } from '../storage/storage.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'

const words: Record<RecordStatus, string> = {
  not_started: 'not checked',
  pending: 'missing',
  verified: 'ok',
  failed: 'wrong',
  temporary_failure: 'no answer',
}

const valueOf = ({ priority, value }: ExpectedRecord) => (priority === null ? value : `${priority} ${value}`)
const title = ({ record, type, fqdn, label, served }: ExpectedRecord) =>
  `${record.padEnd(5)}  ${type.padEnd(3)}  ${fqdn}${served ? '  (published by Posthaste)' : label === null ? '' : `  (${label})`}`

/** Formats the records to publish: type and full name on one line, the value alone on the next, for copying. */
export function describeRecords(records: readonly ExpectedRecord[]): string[] {
  return [
    ...records.flatMap((record) => [title(record), `  ${valueOf(record)}`, '']),
    ...wrapParagraph(
      `Many DNS control panels expect names without the domain at the end: ${records.map(({ name }) => name).join(', ')}.`,
    ),
  ]
}

/** Formats a domain with the state of each record: what was found, and how to fix it. */
export function describeDomain(domain: Domain, records: readonly ExpectedRecord[]): string[] {
  const checked =
    domain.checkedAt === null ? 'Never checked' : `Checked ${formatInstant(domain.checkedAt)} UTC`
  const next = domain.nextCheckAt === null ? '' : `, next ${formatInstant(domain.nextCheckAt)} UTC`
  return [
    `${domain.name}: ${domain.status} since ${formatInstant(domain.statusSince)} UTC`,
    `${checked}${next}`,
    ...(domain.suspect === null
      ? []
      : [
          `Appears ${domain.suspect.status} since ${formatInstant(domain.suspect.since)} UTC; the next check will confirm it.`,
        ]),
    ...records.flatMap((record) => describeRecord(domain, record)),
    ...describeAdvised(domain, records),
  ]
}

/** Formats the optional records that aren't listed: whether they exist. */
function describeAdvised({ checks: all }: Domain, records: readonly ExpectedRecord[]): string[] {
  const checks = all.filter(({ key }) => !records.some((record) => record.key === key))
  const word = (status: RecordStatus): string => (status === 'pending' ? 'missing' : words[status])
  const told = checks
    .filter(({ key }) => isOptionalCheck(key))
    .map(({ key, status }) => `${key} ${word(status)}`)
  const notes = checks.flatMap(({ key, note }) =>
    isOptionalCheck(key) && note !== null ? [`${key}: ${note}`] : [],
  )
  const sentence = `Optional records: ${told.join(', ')}.`
  return told.length === 0 ? [] : ['', ...wrapParagraph([sentence, ...notes].join(' '))]
}

/** Formats the reverse DNS of the domain's sending IPs. */
export function describeReverseDns({ status, note }: ReverseDns): string[] {
  const word = status === 'warning' ? 'could be improved' : words[status]
  const where = status === 'verified' ? '' : ' See: posthaste source list'
  const sentence = `Reverse DNS (PTR) of the sending IPs: ${word}.`
  return ['', ...wrapParagraph([sentence, note ?? ''].join(' ').trim() + where)]
}

const fates: Record<DkimKeyState, string> = {
  pending: 'signs once its record is found in DNS',
  active: 'signs',
  retiring: 'keep its record: receivers may still verify mail signed with it',
  retired: 'its record can be removed',
}

/** Formats the DKIM keys with their state and what it means. */
export function describeKeys(keys: readonly PublicKey[]): string[] {
  const rows = keys.map(({ selector, algorithm, state, stateSince }) => [
    selector,
    algorithm,
    state,
    formatInstant(stateSince),
    fates[state],
  ])
  return ['', ...formatTable(['SELECTOR', 'ALGORITHM', 'STATE', 'SINCE', 'MEANING'], rows)]
}

function describeRecord({ checks }: Domain, record: ExpectedRecord): string[] {
  const check = checks.find(({ key }) => key === record.key)
  const status = check?.status ?? 'not_started'
  const lines = ['', `${words[status].padEnd(11)}  ${title(record)}`]
  if (status === 'verified') return lines
  lines.push(`  expected  ${valueOf(record)}`)
  if (!check) return lines
  const found = check.found.length > 0 ? check.found : status === 'temporary_failure' ? [] : ['nothing']
  lines.push(...found.map((value) => `  found     ${value}`))
  return check.note === null ? lines : [...lines, ...wrapParagraph(check.note, 2)]
}
