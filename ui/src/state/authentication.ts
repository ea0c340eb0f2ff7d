import type { ReceivedEmailSummary } from '../../../appliance/api/receiving.ts'
import type { SandboxMessage } from '../../../appliance/api/sandbox.ts'
import type { Attempt } from '../../../appliance/api/timeline.ts'

/** Explains header fields about the authentication of the sender. */

/** Results of a check (RFC 8601 §2.7), worded as the end of a sentence. */
const RESULTS = new Map(
  Object.entries({
    pass: 'passed',
    fail: 'failed',
    softfail: 'soft-failed: the sender is not listed, but the domain does not ask for rejection',
    neutral: 'was neutral: the domain makes no claim about this sender',
    none: 'found no record or signature to check',
    policy: 'was rejected by the receiver’s policy',
    temperror: 'could not be completed because of a temporary error',
    permerror: 'could not be completed because a record or signature is invalid',
  }),
)

const METHODS = new Map(Object.entries({ dkim: 'DKIM', spf: 'SPF', dmarc: 'DMARC', arc: 'ARC' }))
const ALGORITHMS = new Map([
  ['rsa-sha256', 'RSA'],
  ['ed25519-sha256', 'Ed25519'],
])

/** Explains a header field; returns null if the field is unrelated or malformed. */
export function explainHeaderField({ name, value }: { name: string; value: string }): string | null {
  const field = name.toLowerCase()
  if (field === 'dkim-signature') return signature(value)
  if (field === 'authentication-results') return results(value)
  if (field === 'received-spf') {
    const result = /^\s*(\w+)/.exec(value)?.[1]?.toLowerCase() ?? ''
    return RESULTS.has(result) ? `SPF ${RESULTS.get(result)}.` : null
  }
  return null
}

/** Explains the tags of a DKIM-Signature (RFC 6376 §3.5). */
function signature(value: string): string | null {
  const tags = new Map(
    value.split(';').map((tag) => {
      const [key = '', ...rest] = tag.split('=')
      return [key.trim(), rest.join('=').replace(/\s+/g, '')] as const
    }),
  )
  const [domain, selector, fields] = ['d', 's', 'h'].map((key) => tags.get(key))
  if (!domain || !selector || !fields) return null
  const algorithm = ALGORITHMS.get(tags.get('a') ?? '') ?? tags.get('a')
  const covered = new Set(fields.toLowerCase().split(':'))
  const from = covered.has('from') ? '' : ' It does not cover From, so it proves nothing.'
  return `DKIM signature for ${domain}, selector ${selector}${algorithm ? ` (${algorithm})` : ''}. It covers the body and ${covered.size} header ${covered.size === 1 ? 'field' : 'fields'}.${from}`
}

/** Explains an Authentication-Results field (RFC 8601 §2.2): the server, and the result of each check. */
function results(value: string): string | null {
  const [looked = '', ...parts] = value.replace(/\([^()]*\)/g, ' ').split(';')
  const found = parts.flatMap((part) => {
    const [, method = '', result = ''] = /^\s*([\w-]+)\s*=\s*(\w+)/.exec(part) ?? []
    const [name, words] = [METHODS.get(method.toLowerCase()), RESULTS.get(result.toLowerCase())]
    if (name === undefined || words === undefined) return []
    const about = /\b(?:header\.(?:d|i|from)|smtp\.mailfrom)\s*=\s*@?(\S+)/i.exec(part)?.[1]
    return [`${name}${about === undefined ? '' : ` for ${about}`} ${words}`]
  })
  const who = looked.trim().split(/\s+/)[0]
  return who === undefined || who === '' || found.length === 0
    ? null
    : `Checked by ${who}: ${found.join('; ')}.`
}

/** Explains who signed a sent email. The stored message has no signature, so this reads the attempts. */
export function describeSignatures(attempts: readonly Pick<Attempt, 'signatures'>[]): string[] {
  const stored = 'This is the stored message. DKIM signatures are added when it is sent.'
  const signed = attempts.flatMap(({ signatures }) =>
    signatures.map(
      ({ domain, selector, algorithm }) =>
        `Sent with a DKIM signature for ${domain}, selector ${selector} (${ALGORITHMS.get(algorithm) ?? algorithm}). The key is at ${selector}._domainkey.${domain}.`,
    ),
  )
  return [stored, ...new Set(signed)]
}

/** Results of the sandbox's simulated receiver. */
type Verdicts = Pick<SandboxMessage, 'dkim' | 'spf' | 'dmarc' | 'from' | 'mail_from'>

const domainOf = (address: string) => /@([^\s<>]+)>?\s*$/.exec(address)?.[1] ?? address

/** Explains each check of a message in the sandbox. */
export function describeVerdicts({ dkim, spf, dmarc, from, mail_from: sender }: Verdicts): string[] {
  const of = (result: string) => RESULTS.get(result) ?? result
  return [
    `DKIM ${of(dkim)}${dkim === 'pass' ? ': the signed content was not changed in transit' : ''}.`,
    `SPF for ${domainOf(sender)} ${of(spf)}${spf === 'pass' ? ': the domain lists the sending IP' : ''}.`,
    `DMARC for ${domainOf(from)} ${of(dmarc)}${dmarc === 'pass' ? ': a check that passed matches the From domain' : ''}.`,
  ]
}

/** Explains each check of a received email (RFC 8601), what the check proves, and the spam filter's verdict. */
export function describeReceivedChecks({
  authentication_results: checks,
  envelope,
  spam,
}: Pick<ReceivedEmailSummary, 'authentication_results' | 'envelope' | 'spam'>): string[] {
  const { spf, dkim, dmarc, arc } = checks
  const of = (method: string, { result, domain }: typeof spf) =>
    `${method}${domain === null ? '' : ` for ${domain}`} ${RESULTS.get(result) ?? result}`
  const aside = (domain: string | null) =>
    dmarc.domain !== null && domain !== null && domain !== dmarc.domain
      ? `, which is not the From domain ${dmarc.domain}`
      : ''
  return [
    `${of('SPF', spf)}${spf.result === 'pass' ? `: it lists ${envelope.ip}${aside(spf.domain)}` : ''}.`,
    `${of('DKIM', dkim)}${dkim.result === 'pass' ? `: the signed content was not changed in transit${aside(dkim.domain)}` : ''}.`,
    `${of('DMARC', dmarc)}${DMARC_MEANS.get(dmarc.result) ?? ''}.`,
    ...(arc.result === 'none'
      ? []
      : [`${of('ARC', arc)}: forwarding servers recorded earlier results, which are not trusted here.`]),
    ...(spam === null ? [] : [spamSentence(spam)]),
  ]
}

function spamSentence({
  flagged,
  score,
  reject_score: limit,
  symbols,
}: NonNullable<ReceivedEmailSummary['spam']>) {
  const because = symbols.length > 0 ? ` Rules that matched: ${symbols.slice(0, 10).join(', ')}.` : ''
  return `The spam filter ${flagged ? 'marked it as spam' : 'found no spam'}: score ${score}, rejected from ${limit}.${because}`
}

const DMARC_MEANS = new Map<string, string>([
  ['pass', ': the message comes from the From domain'],
  ['fail', ': anyone may have written it'],
  ['none', ': nothing proves the From address'],
])
