/** Renders the record of an email as a page that can be opened anywhere: it has no scripts and loads nothing. Pure. */
import type { EmailRecord } from './email-record.ts'
import type { Attempt, Step } from './timeline.ts'

const STYLE = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem } h3 { font-size: 1rem }
table { border-collapse: collapse; width: 100% }
th, td { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #8884 }
th { font-weight: 500; white-space: nowrap }
pre { white-space: pre-wrap; font-size: .85rem }`

/** Renders a record. */
export function renderEmailRecordPage(record: EmailRecord): string {
  const { email, timeline, requests, webhooks } = record
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(email.subject)}</title><style>${STYLE}</style>
<h1>${escape(email.subject)}</h1>
${table(null, factsOf(record))}
<h2>Recipients</h2>
${table(['Recipient', 'Status', 'Attempts', 'Provider', 'Last reason'], recipientsOf(timeline))}
<h2>Events</h2>
${table(['Time', 'Event', 'Recipient', 'Reason'], eventsOf(timeline))}
<h2>Attempts</h2>
${timeline.attempts.map((attempt) => attemptOf(attempt, timeline)).join('\n')}
<h2>Requests</h2>
${table(
  ['Time', 'Request', 'Status'],
  requests.map((one) => [one.created_at, `${one.method} ${one.endpoint}`, String(one.response_status)]),
)}
<h2>Webhooks</h2>
${table(
  ['Time', 'Event', 'Webhook', 'Status', 'Attempts'],
  webhooks.data.map((one) => [one.created_at, one.type, one.webhook_id, one.status, String(one.attempts)]),
)}
<p>Recorded ${escape(record.recorded_at)}. All times are in UTC.</p>
</html>
`
}

type Row = readonly string[]

function factsOf({ email, size, return_path: from, timeline }: EmailRecord): Row[] {
  const facts: [string, string][] = [
    ['ID', email.id],
    ['Message-ID', email.message_id ?? ''],
    ['Accepted', timeline.accepted_at],
    ['From', email.from],
    ['Envelope sender', from === '' ? '<>' : from],
    ['To', email.to.join(', ')],
    ['Cc', (email.cc ?? []).join(', ')],
    ['Size', `${size} bytes`],
    ['Last event', email.last_event],
  ]
  return facts.filter(([, value]) => value !== '')
}

const recipientsOf = ({ deliveries }: EmailRecord['timeline']): Row[] =>
  deliveries.map(({ recipient, status, attempts, provider, cause }) => [
    recipient,
    status,
    String(attempts),
    provider,
    cause?.note ?? '',
  ])

const eventsOf = ({ events }: EmailRecord['timeline']): Row[] =>
  events.map(({ created_at: at, type, recipient, cause }) => [at, type, recipient ?? '', cause?.note ?? ''])

function attemptOf(attempt: Attempt, { deliveries }: EmailRecord['timeline']): string {
  const { started_at: begun, ended_at: ended, host, ip, source, tls, signatures, steps } = attempt
  const to = deliveries.filter(({ id }) => attempt.delivery_ids.includes(id))
  const facts: [string, string][] = [
    ['Ended', ended],
    ['Recipients', to.map(({ recipient }) => recipient).join(', ')],
    ['Mail server', host === null ? 'none' : `${host}${ip === null ? '' : ` [${ip}]`}`],
    ['Sending IP', source ?? 'none'],
    ['TLS', tls === null ? 'none' : tlsOf(tls)],
    ['Signatures', signatures.map((one) => `${one.algorithm} d=${one.domain} s=${one.selector}`).join(', ')],
  ]
  const shown = facts.filter(([, value]) => value !== '')
  return `<h3>${escape(begun)}</h3>\n${table(null, shown)}\n<pre>${escape(steps.map(lineOf).join('\n'))}</pre>`
}

const tlsOf = ({ version, cipher, verified, error, issuer }: NonNullable<Attempt['tls']>): string =>
  `${version}, ${cipher}, certificate ${verified ? 'verified' : `not verified: ${error}`}, issued by ${issuer}`

/** Formats a step as in a mail log: the command that was sent, and the reply. */
function lineOf({ name, host, sent, reply, note, at, ms }: Step): string {
  const enhanced = reply?.enhanced ? `${reply.enhanced} ` : ''
  const lines = [
    `${at.toFixed(0).padStart(6)} ms  ${name}${host === null ? '' : ` ${host}`} (${ms.toFixed(0)} ms)`,
    sent === null ? null : `           C: ${sent}`,
    reply === null ? null : `           S: ${reply.code} ${enhanced}${reply.text}`,
    note === null ? null : `           ${note}`,
  ]
  return lines.filter((line) => line !== null).join('\n')
}

function table(head: Row | null, rows: readonly Row[]): string {
  if (rows.length === 0) return '<p>None.</p>'
  const headers = head?.map((name) => `<th scope="col">${name}</th>`).join('') ?? ''
  const lines = rows.map((row) => {
    const cells = row.map((cell, at) =>
      head === null && at === 0 ? `<th scope="row">${escape(cell)}</th>` : `<td>${escape(cell)}</td>`,
    )
    return `<tr>${cells.join('')}</tr>`
  })
  return `<table>${headers === '' ? '' : `<tr>${headers}</tr>`}\n${lines.join('\n')}</table>`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escape = (text: string): string => text.replaceAll(/[&<>"]/g, (one) => ENTITIES[one]!)
