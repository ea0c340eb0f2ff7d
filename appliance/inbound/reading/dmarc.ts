/**
 * Reads DMARC aggregate reports (RFC 9990 §3.1, RFC 7489 §7.2 and Appendix C). Matches elements by name; ignores the
 * namespace and version. Pure.
 */
import { isIP } from 'node:net'
import {
  AUTH_RESULTS,
  DISPOSITIONS,
  type AuthResult,
  type DmarcRecord,
  type DmarcReport,
  type Disposition,
} from '../../mail/dmarc-report.ts'
import { parseElements, type ElementReader } from './report-xml.ts'
import { parseInstant } from './report-time.ts'
import { createProblem, type ReportProblem, unpackReport } from './unpack.ts'

export type DmarcParseResult =
  { kind: 'report'; report: DmarcReport } | { kind: 'problem'; problem: ReportProblem }

/** Maximum number of records that are read; further records are only counted. */
const MAX_RECORDS = 100_000
/** Maximum number of results, reasons or errors of one record or report. */
const MAX_LIST = 50

/** Reads an attached report. Run this in a thread: 256 KB of XML take up to 50 ms, 6.5 MB half a second. */
export function parseDmarcReport(packed: Uint8Array): DmarcParseResult {
  const unpacked = unpackReport(packed)
  if (unpacked.kind === 'problem') return unpacked
  const reader = new ReportReader()
  const trouble = parseElements(unpacked.bytes, reader)
  if (trouble) return createProblem(trouble)
  const report = reader.report()
  return report ? { kind: 'report', report } : createProblem('not-a-report')
}

/** The texts of an element's children, by name. */
type Texts = Map<string, string>

class RawRecord {
  readonly texts: Texts = new Map()
  readonly reasons: Texts[] = []
  readonly dkim: Texts[] = []
  readonly spf: Texts[] = []
}

class ReportReader implements ElementReader {
  readonly #metadata: Texts = new Map()
  readonly #policy: Texts = new Map()
  readonly #errors: string[] = []
  readonly #records: DmarcRecord[] = []
  #record: RawRecord | null = null
  #skipped = 0
  #isFeedback = false

  open(name: string, parent: string): void {
    if (name === 'feedback' || name === 'report_metadata') this.#isFeedback = true
    if (name === 'record') this.#record = new RawRecord()
    const list = this.#record && listOf(this.#record, name, parent)
    if (list && list.length < MAX_LIST) list.push(new Map())
  }

  close(name: string, parent: string, text: string): void {
    if (name === 'record') this.#endRecord()
    else if (this.#record) setInRecord(this.#record, name, parent, text)
    else if (parent === 'policy_published') setFirst(this.#policy, name, text)
    else if (name === 'error') {
      if (text !== '' && this.#errors.length < MAX_LIST) this.#errors.push(text)
    } else if (METADATA.includes(name)) setFirst(this.#metadata, name, text)
  }

  #endRecord(): void {
    const record = this.#record && this.#records.length < MAX_RECORDS ? recordOf(this.#record) : undefined
    if (record) this.#records.push(record)
    else this.#skipped++
    this.#record = null
  }

  /** Returns the report, or undefined if the document is not one or lacks a domain or time. */
  report(): DmarcReport | undefined {
    const metadata = (name: string): string => this.#metadata.get(name) ?? ''
    const policy = (name: string): string => (this.#policy.get(name) ?? '').toLowerCase()
    const [first, second] = [parseInstant(metadata('begin')), parseInstant(metadata('end'))]
    const domain =
      [policy('domain').replace(/\.$/, ''), this.#records[0]?.headerFrom ?? ''].find((one) => one !== '') ??
      ''
    const begin = first ?? second
    if (!this.#isFeedback || domain === '' || begin === undefined) return undefined
    const end = second ?? begin
    return {
      organization: metadata('org_name'),
      email: metadata('email'),
      contact: metadata('extra_contact_info'),
      reportId: metadata('report_id').replaceAll(/[<>]/g, ''),
      begin: Math.min(begin, end),
      end: Math.max(begin, end),
      errors: this.#errors,
      generator: metadata('generator'),
      version: metadata('version'),
      policy: {
        domain,
        p: policy('p'),
        sp: policy('sp'),
        np: policy('np'),
        adkim: policy('adkim'),
        aspf: policy('aspf'),
        pct: policy('pct'),
        fo: policy('fo'),
        testing: policy('testing'),
        discoveryMethod: policy('discovery_method'),
      },
      records: this.#records,
      skipped: this.#skipped,
    }
  }
}

const METADATA = [
  'org_name',
  'email',
  'extra_contact_info',
  'report_id',
  'begin',
  'end',
  'generator',
  'version',
]

/**
 * Returns the list for a repeated element of a record (RFC 9990 Appendix A). `dkim` and `spf` are texts in
 * policy_evaluated and lists in auth_results.
 */
function listOf(record: RawRecord, name: string, parent: string): Texts[] | undefined {
  if (name === 'reason') return record.reasons
  if (parent === 'policy_evaluated') return undefined
  return name === 'dkim' ? record.dkim : name === 'spf' ? record.spf : undefined
}

function setInRecord(record: RawRecord, name: string, parent: string, text: string): void {
  if (parent === 'reason' || parent === 'dkim' || parent === 'spf') {
    const list = parent === 'reason' ? record.reasons : record[parent]
    const last = list.at(-1)
    if (last) setFirst(last, name, text)
  } else if (name === 'dkim' || name === 'spf') {
    if (parent === 'policy_evaluated') setFirst(record.texts, `${name}_aligned`, text)
  } else setFirst(record.texts, name, text)
}

function setFirst(texts: Texts, name: string, text: string): void {
  if (!texts.has(name) && texts.size < MAX_LIST) texts.set(name, text)
}

/** Builds a record; undefined without an address or a message count. A count of zero is valid. */
function recordOf({ texts, reasons, dkim, spf }: RawRecord): DmarcRecord | undefined {
  const text = (name: string): string => texts.get(name) ?? ''
  const sourceIp = text('source_ip')
    .replace(/^\[(?:ipv6:)?(.*)\]$/i, '$1')
    .toLowerCase()
  const count = /^\d{1,15}(?:\.0+)?$/.test(text('count')) ? Number(text('count')) : undefined
  if (isIP(sourceIp) === 0 || count === undefined) return undefined
  return {
    sourceIp,
    count,
    disposition: dispositionOf(text('disposition')),
    dkimAligned: resultOf(text('dkim_aligned')) === 'pass',
    spfAligned: resultOf(text('spf_aligned')) === 'pass',
    reasons: reasons.map((one) => ({
      type: (one.get('type') ?? '').toLowerCase(),
      comment: one.get('comment') ?? '',
    })),
    headerFrom: domainOf(text('header_from')),
    envelopeFrom: domainOf(text('envelope_from')),
    envelopeTo: domainOf(text('envelope_to')),
    dkim: dkim.map((one) => ({
      domain: domainOf(one.get('domain') ?? ''),
      selector: one.get('selector') ?? '',
      result: resultOf(one.get('result') ?? ''),
    })),
    spf: spf.map((one) => ({
      domain: domainOf(one.get('domain') ?? ''),
      scope: scopeOf(one.get('scope') ?? ''),
      result: resultOf(one.get('result') ?? ''),
    })),
  }
}

/** Some reporters write whole addresses, or a trailing dot. */
const domainOf = (text: string): string =>
  text
    .slice(text.lastIndexOf('@') + 1)
    .replace(/[.>]+$/, '')
    .toLowerCase()

const lettersOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z]/g, '')

function resultOf(text: string): AuthResult {
  const word = lettersOf(text)
  if (word === 'hardfail') return 'fail'
  if (word === 'error') return 'temperror'
  return AUTH_RESULTS.find((one) => one === word) ?? 'unknown'
}

const dispositionOf = (text: string): Disposition =>
  DISPOSITIONS.find((one) => one === lettersOf(text)) ?? 'unknown'

function scopeOf(text: string): 'mfrom' | 'helo' | 'unknown' {
  const word = lettersOf(text)
  return word === 'mfrom' || word === 'helo' ? word : 'unknown'
}
