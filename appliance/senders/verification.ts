/**
 * Evaluates what is published for a sending domain. Pure: takes an answer and returns a sentence. Lenient where
 * receivers are (tag order, spaces, more SPF mechanisms), strict where they would reject the mail.
 */
import type { Answer } from '../dns/dns.ts'
import type { RecordCheck } from '../storage/storage.ts'
import { evaluateDkimRecord } from './evaluate-dkim.ts'
import {
  evaluateSpfRecord,
  validVerdict,
  createInvalidVerdict,
  type RecordVerdict,
  evaluateDmarcRecord,
  evaluateTlsRptRecord,
} from './evaluate-spf.ts'
import type { ExpectedRecord } from './records.ts'

/** What DNS answered for a record, and what was found where it is commonly misplaced. */
export type Evidence =
  | { type: 'TXT'; answer: Answer<'TXT'>; elsewhere: CommonMistakes }
  | { type: 'MX'; answer: Answer<'MX'>; elsewhere: CommonMistakes }
  | { type: 'CNAME'; answer: Answer<'CNAME'>; elsewhere: CommonMistakes }
  | { type: 'NS'; answer: Answer<'NS'>; elsewhere: CommonMistakes }

export interface CommonMistakes {
  /** Another name at which the correct record was found; null if there is none. */
  misplaced: string | null
  /** The target of a dangling CNAME at the record's own name; null if there is none. */
  cname: string | null
  /** Whether addresses are published at the name of a record that should be a CNAME. */
  proxied?: boolean
}

/** The opinion on one record. Its timestamps are added when it is stored. */
export type RecordResult = Omit<RecordCheck, 'checkedAt' | 'since'>

/** Evaluates one record. */
export function evaluateRecord(expected: ExpectedRecord, evidence: Evidence): RecordResult {
  const { answer } = evidence
  const { key, fqdn } = expected
  if (answer.kind === 'failed')
    return {
      key,
      status: 'temporary_failure',
      found: [],
      note: `The DNS lookup of ${fqdn} failed: ${answer.note}. The record may still be correct. Check again later.`,
    }
  const [found, opinion] = judgeEvidence(expected, evidence)
  if (opinion === undefined) return { key, ...absent(expected, evidence, found.length > 0), found }
  return opinion.right
    ? { key, status: 'verified', found, note: null }
    : { key, status: 'failed', found, note: opinion.note }
}

/** The published texts, and the verdict; undefined if no published text is meant for this purpose. */
type Judged = [found: string[], opinion: RecordVerdict | undefined]

function judgeEvidence(expected: ExpectedRecord, evidence: Evidence): Judged {
  if (evidence.type === 'MX') return judgeMxRecords(expected, evidence.answer)
  if (evidence.type === 'NS') return judgeNs(expected, evidence.answer)
  return evidence.type === 'CNAME'
    ? judgeAlias(expected, evidence.answer)
    : judgeTexts(expected, evidence.answer)
}

function judgeAlias({ value }: ExpectedRecord, answer: Answer<'CNAME'>): Judged {
  const found = answer.kind === 'found' ? answer.records : []
  if (found.length === 0) return [found, undefined]
  const target = value.toLowerCase()
  if (found.includes(target)) return [found, validVerdict]
  return found[0]!.startsWith(`${target}.`)
    ? [
        found,
        createInvalidVerdict(
          `The DNS panel changed the target to ${found[0]!}. Enter ${target}. with a dot at the end.`,
        ),
      ]
    : [found, createInvalidVerdict(`The CNAME points to ${found[0]!}. Change it to ${target}.`)]
}

/** Evaluates whether a subdomain's NS records include the expected name of our DNS server. */
function judgeNs({ value, fqdn }: ExpectedRecord, answer: Answer<'NS'>): Judged {
  const found = answer.kind === 'found' ? answer.records : []
  if (found.length === 0) return [found, undefined]
  return found.includes(value)
    ? [found, validVerdict]
    : [
        found,
        createInvalidVerdict(
          `${fqdn} is delegated to ${found.join(', ')}. Change the NS record to ${value}.`,
        ),
      ]
}

function judgeTexts(expected: ExpectedRecord, answer: Answer<'TXT'>): Judged {
  const found = answer.kind === 'found' ? answer.records : []
  // A key record needs no version tag (RFC 6376 §3.6.1), so everything at its name counts.
  const purpose = {
    DKIM: /^/,
    SPF: /^["'\s]*v\s*=\s*spf1(?![^\s"'])/i,
    DMARC: /^["'\s]*v\s*=\s*DMARC1/i,
    Receiving: /^/,
    'TLS-RPT': /^["'\s]*v\s*=\s*TLSRPTv1/i,
    Tracking: /^/,
    'MTA-STS': /^/,
    Delegation: /^/,
  }[expected.record]
  const records = found.filter((text) => purpose.test(text))
  return [found, records.length === 0 ? undefined : judgeTxt(expected, records)]
}

function judgeMxRecords(expected: ExpectedRecord, answer: Answer<'MX'>): Judged {
  const records = answer.kind === 'found' ? answer.records : []
  const found = records.map(({ preference, exchange }) => `${preference} ${exchange === '' ? '.' : exchange}`)
  return [found, records.length === 0 ? undefined : judgeMx(expected, records)]
}

function judgeTxt(expected: ExpectedRecord, records: string[]): RecordVerdict {
  const quoted = records.find((text) => /^\s*["']/.test(text))
  if (quoted !== undefined)
    return createInvalidVerdict(
      'The value contains quotation marks. Enter it without them; the DNS panel adds its own.',
    )
  if (records.some((text) => text.includes('\\;')))
    return createInvalidVerdict(
      'The value contains backslashes before the semicolons. Enter it without them.',
    )
  if (expected.record === 'DKIM') return evaluateDkimRecord(expected, records)
  if (expected.record === 'TLS-RPT') return evaluateTlsRptRecord(records)
  return expected.record === 'SPF' ? evaluateSpfRecord(expected, records) : evaluateDmarcRecord(records)
}

/**
 * Evaluates whether mail is delivered here first: our host must be the only one with the lowest preference (RFC 5321
 * §5.1).
 */
function judgeMx(
  expected: ExpectedRecord,
  records: { preference: number; exchange: string }[],
): RecordVerdict {
  const target = expected.value.toLowerCase()
  const mail = expected.record === 'Receiving' ? 'the mail' : 'bounces'
  const ours = records.filter(({ exchange }) => exchange === target)
  const others = records.filter(({ exchange }) => exchange !== target)
  if (ours.length === 0) {
    if (others.some(({ exchange }) => exchange === '' || exchange === '.'))
      return createInvalidVerdict(
        `A null MX record means that the domain accepts no mail. Replace it with ${target}.`,
      )
    const doubled = others.find(({ exchange }) => exchange.startsWith(`${target}.`))
    if (doubled)
      return createInvalidVerdict(
        `The DNS panel changed the target to ${doubled.exchange}. Enter ${target}. with a dot at the end.`,
      )
    return createInvalidVerdict(
      `The MX record points to ${others[0]!.exchange}, so ${mail} would not reach this server. Change it to ${target}.`,
    )
  }
  const best = Math.min(...ours.map(({ preference }) => preference))
  const rival = others.find(({ preference }) => preference <= best)
  if (rival)
    return createInvalidVerdict(
      `${rival.exchange} has preference ${rival.preference}, so it receives ${mail} before ${target} (${best}). Remove it or give it a higher number.`,
    )
  return validVerdict
}

type AbsentCheck = Pick<RecordCheck, 'status' | 'note'>

function absent(
  expected: ExpectedRecord,
  { answer, elsewhere: { misplaced, cname, proxied = false } }: Evidence,
  others: boolean,
): AbsentCheck {
  const { fqdn, type, name } = expected
  if (misplaced !== null)
    return {
      status: 'failed',
      note: `The record is at ${misplaced} instead of ${fqdn}: ${
        misplaced.length > fqdn.length
          ? 'the DNS panel added the zone to the name'
          : 'part of the name is missing'
      }. Enter the name as ${name}.`,
    }
  if (cname !== null)
    return {
      status: 'failed',
      note: `${fqdn} is a CNAME to ${cname}, which has no ${type} record. Replace it with the ${type} record.`,
    }
  if (proxied)
    return {
      status: 'failed',
      note: `${fqdn} has addresses instead of a CNAME record, so a proxy is probably active. Turn off the proxy for this name ("DNS only"), or replace the addresses with the CNAME record.`,
    }
  const contents: Partial<Record<typeof expected.record, string>> = {
    DKIM: '',
    DMARC: ' with a DMARC policy',
    'TLS-RPT': ' with an address for TLS reports',
  }
  const what = contents[expected.record] ?? ' with an SPF policy'
  const note = others
    ? `There are TXT records at ${fqdn}, but none${what}. Add the record.`
    : answer.kind === 'absent' && answer.why === 'nxdomain'
      ? `Nothing is published at ${fqdn}. Add the ${type} record. New records can take a few minutes to appear.`
      : `${fqdn} exists but has no ${type} record. Add it. New records can take a few minutes to appear.`
  return { status: 'pending', note }
}
