import type { DomainRecord } from '../../../appliance/api/domains.ts'

/** In seconds. The API's "Auto" isn't valid in a zone file. */
const TTL = 3600

/** Maximum length of a character-string in a TXT record (RFC 1035 §3.3). */
const CHARACTER_STRING = 255

/** Formats records as lines of a zone file (RFC 1035 §5.1) with absolute names. */
export function formatZoneFile(records: readonly DomainRecord[]): string {
  return records.map((record) => `${record.fqdn}. ${TTL} IN ${record.type} ${rdata(record)}\n`).join('')
}

function rdata(record: DomainRecord): string {
  const absolute = record.value.replace(/\.?$/, '.')
  if (record.type === 'MX') return `${record.priority ?? 10} ${absolute}`
  if (record.type === 'CNAME' || record.type === 'NS') return absolute
  const pieces = record.value.match(new RegExp(`.{1,${CHARACTER_STRING}}`, 'gs')) ?? ['']
  const quoted = pieces.map((piece) => `"${piece.replace(/["\\]/g, '\\$&')}"`)
  return quoted.length === 1 ? quoted.join('') : `( ${quoted.join(' ')} )`
}
