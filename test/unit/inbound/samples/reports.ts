/** Aggregate DMARC reports (RFC 9990, RFC 7489) and TLS reports (RFC 8460), as reporters send them. */
import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { mail, multipart } from './sample.ts'

export interface ReportSample {
  name: string
  message: string
  kind: 'dmarc-aggregate' | 'tls-report'
  /** Sum of the messages in all records, or of the sessions. */
  count: number
}

const record = (ip: string, count: number | string, more = ''): string =>
  `<record><row><source_ip>${ip}</source_ip><count>${count}</count><policy_evaluated><disposition>none</disposition><dkim>pass</dkim><spf>fail</spf>${more}</policy_evaluated></row><identifiers><envelope_from>send.sender.example</envelope_from><header_from>sender.example</header_from></identifiers><auth_results><dkim><domain>sender.example</domain><selector>posthaste</selector><result>pass</result></dkim><spf><domain>send.sender.example</domain><scope>mfrom</scope><result>softfail</result></spf></auth_results></record>`

const metadata = (name: string): string =>
  `<report_metadata><org_name>${name}</org_name><email>dmarc@receiver.example</email><report_id>r-${name}</report_id><date_range><begin>1795392000</begin><end>1795478399</end></date_range></report_metadata>`
const policy =
  '<policy_published><domain>sender.example</domain><adkim>r</adkim><aspf>r</aspf><p>none</p><sp>none</sp><pct>100</pct></policy_published>'

export const dmarcXml = (name: string, records = record('192.0.2.1', 3) + record('2001:db8::1', 4)): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<feedback><version>1.0</version>${metadata(name)}${policy}${records}</feedback>`

/** Returns a ZIP archive of stored or deflated files. */
export function zip(
  files: readonly { name: string; bytes: Uint8Array; flags?: number; stored?: boolean }[],
): Buffer {
  const locals: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const { name, bytes, flags = 0, stored = false } of files) {
    const packed = stored ? Buffer.from(bytes) : deflateRawSync(bytes)
    const about = Buffer.alloc(26)
    about.writeUInt16LE(20, 0)
    about.writeUInt16LE(flags, 2)
    about.writeUInt16LE(stored ? 0 : 8, 4)
    about.writeUInt32LE(crc32(bytes), 10)
    about.writeUInt32LE(packed.length, 14)
    about.writeUInt32LE(bytes.length, 18)
    about.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), about, Buffer.from(name), packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), about, tail, Buffer.from(name)]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directory, end])
}

const NAME = 'receiver.example!sender.example!1795392000!1795478399'
const SUBJECT = 'Report Domain: sender.example Submitter: receiver.example Report-ID: <r-1>'

function attach(type: string, name: string | null, bytes: Uint8Array, subject = SUBJECT): string {
  const named = name === null ? '' : `; name="${name}"`
  const lines = Buffer.from(bytes).toString('base64').replaceAll(/.{76}/g, '$&\n')
  const [header, body] = multipart('multipart/mixed', [
    ['Content-Type: text/plain', 'This is a report.'],
    [`Content-Type: ${type}${named}\nContent-Transfer-Encoding: base64`, lines],
  ])
  return mail(['From: noreply-dmarc@receiver.example', `Subject: ${subject}`, header], body)
}

const dmarc = (name: string, message: string, count = 7): ReportSample => ({
  name,
  message,
  kind: 'dmarc-aggregate',
  count,
})
const xml = (name: string): Buffer => Buffer.from(dmarcXml(name))

export const DMARC_REPORTS: readonly ReportSample[] = [
  dmarc('gzip', attach('application/gzip', `${NAME}.xml.gz`, gzipSync(xml('gzip')))),
  dmarc('octet-stream without name', attach('application/octet-stream', null, gzipSync(xml('octets')))),
  dmarc('zip', attach('application/zip', `${NAME}.zip`, zip([{ name: `${NAME}.xml`, bytes: xml('zip') }]))),
  dmarc(
    'stored zip',
    attach(
      'application/x-zip-compressed',
      `${NAME}.zip`,
      zip([{ name: 'a.xml', bytes: xml('stored'), stored: true }]),
    ),
  ),
  dmarc(
    'zip with a folder',
    attach(
      'application/zip',
      `${NAME}.zip`,
      zip([
        { name: 'reports/', bytes: new Uint8Array() },
        { name: 'reports/a.xml', bytes: xml('folder') },
      ]),
    ),
  ),
  dmarc('plain XML', attach('text/xml', `${NAME}.xml`, xml('plain'))),
  dmarc('named .gz, not compressed', attach('application/gzip', `${NAME}.xml.gz`, xml('misnamed'))),
  dmarc('no subject', attach('application/gzip', `${NAME}.xml.gz`, gzipSync(xml('nosubject')), '')),
  dmarc(
    'preview',
    attach(
      'application/gzip',
      null,
      gzipSync(xml('preview')),
      '[Preview] Report Domain: sender.example Submitter: protection.example Report-ID: 1',
    ),
  ),
  dmarc(
    'body alone',
    mail(
      [
        'From: dmarc@receiver.example',
        `Subject: ${SUBJECT}`,
        'Content-Type: application/gzip',
        'Content-Transfer-Encoding: base64',
      ],
      gzipSync(xml('body')).toString('base64'),
    ),
  ),
  dmarc(
    'text in body',
    mail(
      ['From: dmarc@receiver.example', `Subject: ${SUBJECT}`, 'Content-Type: text/plain'],
      dmarcXml('text'),
    ),
  ),
  dmarc(
    'RFC 9990',
    attach(
      'application/gzip',
      `${NAME}.xml.gz`,
      gzipSync(
        dmarcXml('rfc9990')
          .replace('<feedback>', '<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">')
          .replace(
            '<pct>100</pct>',
            '<np>reject</np><testing>y</testing><discovery_method>treewalk</discovery_method>',
          ),
      ),
    ),
  ),
  dmarc(
    'prefixed',
    attach(
      'application/gzip',
      `${NAME}.xml.gz`,
      gzipSync(dmarcXml('prefix').replaceAll(/<(\/?)(?=\w)/g, '<$1d:')),
    ),
  ),
  dmarc(
    'unclosed schema in front',
    attach(
      'application/gzip',
      `${NAME}.xml.gz`,
      gzipSync(
        dmarcXml('schema').replace(
          '<feedback>',
          '<xs:schema targetNamespace="http://dmarc.org/dmarc-xml/0.1"><feedback>',
        ),
      ),
    ),
  ),
  dmarc(
    'results in any case',
    attach(
      'application/gzip',
      `${NAME}.xml.gz`,
      gzipSync(
        dmarcXml('case')
          .replaceAll('>pass<', '>Pass<')
          .replaceAll('softfail', 'softFail')
          .replaceAll('>fail<', '>hardfail<'),
      ),
    ),
  ),
  dmarc(
    'records without address or count',
    attach(
      'application/gzip',
      `${NAME}.xml.gz`,
      gzipSync(
        dmarcXml('odd', record('192.0.2.1', 7) + record('mail.sender.example', 2) + record('192.0.2.2', '')),
      ),
    ),
  ),
  dmarc(
    'bracketed IPv6',
    attach('application/gzip', `${NAME}.xml.gz`, gzipSync(dmarcXml('v6', record('[IPv6:2001:db8::2]', 7)))),
  ),
  dmarc('UTF-16', attach('text/xml', `${NAME}.xml`, Buffer.from(`\uFEFF${dmarcXml('utf16')}`, 'utf16le'))),
  dmarc('invalid bytes', attach('text/xml', `${NAME}.xml`, Buffer.from(dmarcXml('caf\xe9'), 'latin1'))),
  dmarc(
    'times with a fraction, turned',
    attach(
      'application/gzip',
      `${NAME}.xml.gz`,
      gzipSync(
        dmarcXml('times')
          .replace('<begin>1795392000', '<begin>1795478399.5')
          .replace('<end>1795478399', '<end>1795392000'),
      ),
    ),
  ),
]

export const TLS_JSON = {
  'organization-name': 'Receiver',
  'date-range': { 'start-datetime': '2026-11-24T00:00:00Z', 'end-datetime': '2026-11-24T23:59:59Z' },
  'contact-info': 'tls@receiver.example',
  'report-id': '2026-11-24.sender.example@receiver.example',
  policies: [
    {
      policy: {
        'policy-type': 'STS',
        'policy-string': ['version: STSv1', 'mode: enforce'],
        'policy-domain': 'sender.example',
        'mx-host': 'mx.sender.example',
      },
      summary: { 'total-successful-session-count': '5', 'total-failure-session-count': 2 },
      'failure-details': [
        {
          'result-type': 'certificate-expired',
          'sending-mta-ip': '192.0.2.1',
          'receiving-mx-hostname': 'mx.sender.example',
          'failed-session-count': 2,
        },
      ],
    },
  ],
}

function tls(name: string, type: string, bytes: Uint8Array, header: readonly string[] = []): ReportSample {
  const [multi, body] = multipart('multipart/report; report-type="tlsrpt"', [
    ['Content-Type: text/plain', 'This is a TLS report.'],
    [`Content-Type: ${type}\nContent-Transfer-Encoding: base64`, Buffer.from(bytes).toString('base64')],
  ])
  return {
    name,
    kind: 'tls-report',
    count: 7,
    message: mail(
      [
        'From: tls@receiver.example',
        'Subject: Report Domain: sender.example Submitter: receiver.example',
        ...header,
        multi,
      ],
      body,
    ),
  }
}

export const TLS_REPORTS: readonly ReportSample[] = [
  tls('gzip', 'application/tlsrpt+gzip', gzipSync(JSON.stringify(TLS_JSON)), [
    'TLS-Report-Domain: sender.example',
  ]),
  tls('JSON', 'application/tlsrpt+json', Buffer.from(JSON.stringify(TLS_JSON))),
  tls('octet-stream', 'application/octet-stream', gzipSync(JSON.stringify(TLS_JSON))),
  tls('JSON as text', 'application/json', Buffer.from(`\uFEFF${JSON.stringify(TLS_JSON)}`)),
]
