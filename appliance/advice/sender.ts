/** Checks the From address and its domain. Pure. */
import { getDomain } from 'tldts'
import { parseMailbox } from '../mail/address.ts'
import { createInsight, type Insight } from '../mail/insight.ts'

/** Data about a sending domain. */
export interface SenderDomain {
  name: string
  /** Results of the last check of the domain's records; empty before the first check. */
  checks: readonly { key: string; status: string }[]
  openTracking: boolean
  clickTracking: boolean
  /** First label of the domain's own tracking host; null if tracking uses the name of this server. */
  trackingSubdomain: string | null
}

const NO_REPLY = /^(?:no|do-?not)-?_?reply/i

/** Checks the From address. @param domain its domain; undefined if it can't be used */
export function checkSender(from: string, domain: SenderDomain | undefined): Insight[] {
  return [...addressChecks(from), ...(domain ? domainChecks(domain) : [])]
}

function addressChecks(from: string): Insight[] {
  const mailbox = parseMailbox(from)
  const shown = /[^\s<>"]+@[^\s<>"]+/.exec(mailbox?.name ?? '')?.[0]
  const other = shown !== undefined && shown.toLowerCase() !== mailbox?.address.toLowerCase()
  return [
    createInsight('reply', NO_REPLY.test(mailbox?.local ?? '') ? 'attention' : null, {
      note: 'Readers can’t reply to a no-reply address, and trust it less.',
      why: 'Replies show providers that mail is wanted.',
      fix: 'Send from an address that somebody reads.',
      well: 'Readers can answer.',
    }),
    createInsight('display-name', other ? 'attention' : null, {
      note: 'The sender’s name contains another address.',
      why: 'Phishing does that, so filters distrust it.',
      fix: 'Use the name of a person or company.',
      well: 'The sender’s name doesn’t contain another address.',
      evidence: [shown ?? ''],
    }),
  ]
}

/** Checks whether receivers can trust the domain (RFC 9989 §4.4). Messages are always signed by this domain. */
function domainChecks(domain: SenderDomain): Insight[] {
  const { name, checks } = domain
  const seen = (key: string): boolean => checks.some((one) => one.key === key && one.status === 'verified')
  const checked = checks.some(({ key }) => key === 'DMARC')
  const wrong = seen('DMARC') ? (seen('SPF') ? null : 'SPF') : 'DMARC'
  return [
    ...(checked ? [alignment(name, wrong)] : []),
    createInsight('subdomain', getDomain(name) === name ? 'advice' : null, {
      note: `The emails come from ${name} itself, not from a subdomain.`,
      why: 'A subdomain keeps the reputation of automatic email separate from that of personal mail.',
      fix: `Send from a subdomain such as mail.${name}.`,
      well: `The emails come from a subdomain.`,
    }),
    ...trackingChecks(domain, seen),
  ]
}

const alignment = (name: string, missing: 'DMARC' | 'SPF' | null): Insight =>
  createInsight('dmarc', missing === null ? null : 'attention', {
    note:
      missing === 'DMARC'
        ? `${name} has no valid DMARC record. Gmail, Yahoo and Outlook reject bulk mail without one.`
        : `Emails pass DMARC by their signature alone: the return path of ${name} has no valid SPF record.`,
    why: 'Receivers trust a sender more if it proves its domain in both ways.',
    fix: `Publish the ${missing ?? ''} record shown for ${name} under Domains.`,
    well: `Signature and return path match ${name}, as DMARC requires.`,
  })

function trackingChecks(
  { name, openTracking, clickTracking, trackingSubdomain }: SenderDomain,
  seen: (key: string) => boolean,
): Insight[] {
  const own = trackingSubdomain !== null && seen(`Tracking ${trackingSubdomain}.${name}`)
  const what = [clickTracking ? 'links' : null, openTracking ? 'open pixels' : null].filter(
    (one) => one !== null,
  )
  return [
    createInsight('tracking', what.length > 0 && !own ? 'advice' : null, {
      note: `Tracked ${what.join(' and ')} lead to the name of this server, not to ${name}.`,
      why: 'Filters compare the links of a message with its sender.',
      fix: `Set a tracking subdomain for ${name} under Domains, and publish its record.`,
      well: what.length > 0 ? `Tracked ${what.join(' and ')} lead to ${name}.` : 'Nothing is tracked.',
    }),
  ]
}
