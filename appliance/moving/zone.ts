/** Writes the records of moved domains as a zone file, in the order in which to publish them. Pure. */
import { isExtensionRecord, type ExpectedRecord } from '../senders/records.ts'
import type { HostedRecord } from './objects.ts'
import type { MovedDomain } from './report.ts'

/** Seconds. */
const TTL = 3600
/** Maximum length of one character-string in a TXT record, in octets (RFC 1035 §3.3). */
const CHARACTER_STRING = 255

/** The fields of a moved domain that a zone file needs. */
type Recorded = Omit<MovedDomain, 'keys'>

/** Finds the hosted service's records that a record replaces: those with the same name and type. */
function replacedBy(record: ExpectedRecord, theirs: readonly HostedRecord[]): HostedRecord[] {
  // DMARC and TLS-RPT apply to the whole domain, whichever service sends for it; DKIM keys have their own selectors.
  if (isExtensionRecord(record) || record.record === 'DKIM') return []
  return theirs.filter(({ fqdn, type }) => fqdn === record.fqdn && type === record.type)
}

/** Whether the domain can only be verified here once a record of the hosted service is replaced. */
export function sharesReturnPath({ records, theirs }: Pick<Recorded, 'records' | 'theirs'>): boolean {
  return records.some((record) => record.required && replacedBy(record, theirs).length > 0)
}

/**
 * Writes a zone file (RFC 1035 §5.1) with absolute names: first records that can be added, then those that replace
 * others.
 */
export function formatZoneFile(moved: readonly Recorded[]): string {
  return moved.map(zoneOfOne).join('\n')
}

function zoneOfOne({ domain, records, theirs }: Recorded): string {
  const shared = (record: ExpectedRecord) => replacedBy(record, theirs).length > 0
  const beside = records.filter((record) => !shared(record))
  const instead = records.filter(shared)
  const lines = [
    `; ${domain.name}: publish now, in addition to the existing records`,
    ...beside.flatMap((one) => linesOf(one, [])),
  ]
  if (instead.length > 0)
    lines.push(`; ${domain.name}: publish at the switch, replacing the existing records`)
  lines.push(...instead.flatMap((one) => linesOf(one, replacedBy(one, theirs))))
  return `${lines.join('\n')}\n`
}

function linesOf(record: ExpectedRecord, replaced: readonly HostedRecord[]): string[] {
  const line = `${record.fqdn}. ${TTL} IN ${record.type} ${rdata(record)}`
  if (isExtensionRecord(record)) return [`; only if the domain has no ${record.record} record yet`, line]
  const notes = replaced.map(({ value }) => comment(`instead of ${value}`))
  const merged = replaced.flatMap(({ value }) => mergeSpf(value, record) ?? [])
  return [
    ...(record.required ? [] : [`; ${record.label ?? 'optional'}`]),
    ...notes,
    ...(replaced.length > 0 && record.record === 'Tracking'
      ? [
          '; tracked links in mail already sent by the hosted service use this name and would break; use a different label',
        ]
      : []),
    ...merged.map((policy) => comment(`while both services send, use one record for both: "${policy}"`)),
    line,
  ]
}

/**
 * Inserts this server's mechanisms at the start of the existing policy, because a name can have only one policy (RFC
 * 7208 §4.5).
 */
export function mergeSpf(
  theirs: string,
  { type, value }: Pick<ExpectedRecord, 'type' | 'value'>,
): string | undefined {
  const policy = /^"?v=spf1 +([^"]*?) *"?$/i.exec(theirs)?.[1]
  const ours = /^v=spf1 +(.*?) +[-~?+]?all$/i.exec(value)?.[1]
  return type === 'TXT' && policy !== undefined && ours !== undefined ? `v=spf1 ${ours} ${policy}` : undefined
}

/** Formats untrusted text as a comment that can't break out of its line. */
const comment = (text: string): string => `; ${text.replace(/[^\x20-\x7e]/g, '?').slice(0, 300)}`

function rdata({ type, value, priority }: ExpectedRecord): string {
  if (type === 'MX') return `${priority ?? 10} ${absolute(value)}`
  if (type === 'CNAME') return absolute(value)
  const pieces = value.match(new RegExp(`.{1,${CHARACTER_STRING}}`, 'gs')) ?? ['']
  const quoted = pieces.map((piece) => `"${piece.replace(/["\\]/g, '\\$&')}"`)
  return quoted.length === 1 ? quoted.join('') : `( ${quoted.join(' ')} )`
}

const absolute = (name: string): string => name.replace(/\.?$/, '.')
