/**
 * The daily reports of a simulated receiver about a domain's mail of yesterday: DMARC (RFC 9990, RFC 7489) and TLS (RFC
 * 8460). Pure.
 */
import { gzipSync } from 'node:zlib'

/** The reporting server, the recipient of the report, and its subject. */
interface ReportAbout {
  /** Host name of the reporting server. */
  host: string
  /** The address in `rua=`. */
  reportsTo: string
  /** The domain of the From field. */
  domain: string
  /** IP of the client that delivered the message. */
  ip: string
  /** Unix milliseconds. */
  now: number
}

/** Messages from one sending IP, with their results. */
interface Source {
  ip: string
  count: number
  disposition: 'none' | 'quarantine'
  /** Domains for which DKIM and SPF pass; null if there is none. */
  dkim: string | null
  spf: string | null
}

const DAY = 86_400_000

/**
 * Returns three sending IPs: this server, a service that isn't set up for the domain, and a forger (addresses of RFC
 * 5737).
 */
const sourcesOf = ({ domain, ip }: ReportAbout): Source[] => [
  { ip, count: 42, disposition: 'none', dkim: domain, spf: domain },
  { ip: '198.51.100.20', count: 5, disposition: 'none', dkim: 'crm.test', spf: 'crm.test' },
  { ip: '203.0.113.66', count: 3, disposition: 'quarantine', dkim: null, spf: null },
]

const yesterday = ({ now }: ReportAbout): [begin: number, end: number] => {
  const begin = Math.floor(now / DAY) * DAY - DAY
  return [begin, begin + DAY - 1000]
}

function recordOf(domain: string, { ip, count, disposition, dkim, spf }: Source): string {
  const [signed, sent] = [dkim === domain ? 'pass' : 'fail', spf === domain ? 'pass' : 'fail']
  const signature = `<dkim><domain>${dkim}</domain><selector>s1</selector><result>pass</result></dkim>`
  return [
    `<record><row><source_ip>${ip}</source_ip><count>${count}</count><policy_evaluated>`,
    `<disposition>${disposition}</disposition><dkim>${signed}</dkim><spf>${sent}</spf></policy_evaluated></row>`,
    `<identifiers><header_from>${domain}</header_from></identifiers>`,
    `<auth_results>${dkim === null ? '' : signature}<spf><domain>${spf ?? domain}</domain>`,
    `<result>${spf === null ? 'fail' : 'pass'}</result></spf></auth_results></record>`,
  ].join('')
}

/** Creates an aggregate report (RFC 7489 appendix C). */
export function createDmarcReport(about: ReportAbout) {
  const { host, domain, now } = about
  const [begin, end] = yesterday(about).map((at) => at / 1000)
  const xml = [
    '<?xml version="1.0" encoding="UTF-8"?>\n<feedback><report_metadata>',
    `<org_name>${host}</org_name><email>reports@${host}</email><report_id>${now}</report_id>`,
    `<date_range><begin>${begin}</begin><end>${end}</end></date_range></report_metadata>`,
    `<policy_published><domain>${domain}</domain><p>none</p></policy_published>`,
    ...sourcesOf(about).map((source) => recordOf(domain, source)),
    '</feedback>',
  ].join('')
  return message(about, `${host}!${domain}!${begin}!${end}.xml.gz`, 'application/gzip', xml)
}

/** Creates a TLS report (RFC 8460 §4.4). */
export function createTlsReport(about: ReportAbout) {
  const { host, domain, now } = about
  const [begin, end] = yesterday(about).map((at) => new Date(at).toISOString())
  const failure = { 'result-type': 'certificate-expired', 'failed-session-count': 3 }
  const json = JSON.stringify({
    'organization-name': host,
    'date-range': { 'start-datetime': begin, 'end-datetime': end },
    'contact-info': `reports@${host}`,
    'report-id': String(now),
    policies: [
      {
        policy: { 'policy-type': 'sts', 'policy-domain': domain },
        summary: { 'total-successful-session-count': 120, 'total-failure-session-count': 3 },
        'failure-details': [{ ...failure, 'receiving-mx-hostname': `mx.${domain}` }],
      },
    ],
  })
  return message(about, `${host}!${domain}!${now}.json.gz`, 'application/tlsrpt+gzip', json)
}

/** Creates the email with a report, from an address that passes SPF. */
function message({ host, reportsTo, domain, now }: ReportAbout, name: string, type: string, report: string) {
  const from = `reports@${host}`
  const base64 = gzipSync(report).toString('base64')
  return {
    mailFrom: from,
    rcptTo: reportsTo,
    lines: [
      `From: <${from}>`,
      `To: <${reportsTo}>`,
      `Subject: Report Domain: ${domain} Submitter: ${host} Report-ID: <${now}>`,
      'Auto-Submitted: auto-generated',
      'Content-Transfer-Encoding: base64',
      `Content-Type: ${type}; name="${name}"`,
      `Content-Disposition: attachment; filename="${name}"`,
      '',
      ...(base64.match(/.{1,76}/g) ?? []),
    ],
  }
}
