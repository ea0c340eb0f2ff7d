/**
 * Behavior of the sandbox's mail exchangers and DNS, selected by the recipient: the local part (before any `+` or `-`)
 * selects the exchanger's behavior, the first label of the domain selects that of DNS. Mail to any other address is
 * delivered. docs/sandbox.md is generated from these tables.
 */

/** How an exchanger treats a recipient. */
export interface Behavior {
  /** Description of the exchanger's behavior. */
  does: string
  /** Outcome of the delivery. */
  outcome: string
  /** Reply to RCPT. */
  rcpt?: { code: number; text: string }
  /** Reply after the final dot. */
  body?: { code: number; text: string }
  /** Time after the first attempt during which the recipient is refused with `rcpt`, in milliseconds. */
  untilAfterMs?: number
  /** Delay before the reply to RCPT, in milliseconds. */
  delayMs?: number
  /** When to close the connection without a reply. */
  drop?: 'rcpt' | 'body'
  /** Makes TLS handshakes with the domain's second exchanger fail. */
  breakTls?: true
}

export const BEHAVIORS: Record<string, Behavior> = {
  bounce: {
    does: 'refuses the recipient: 550 5.1.1',
    outcome: 'bounced',
    rcpt: { code: 550, text: '5.1.1 Mailbox does not exist' },
  },
  blocked: {
    does: 'refuses the message after its body: 554 5.7.1',
    outcome: 'bounced',
    body: { code: 554, text: '5.7.1 Message refused by local policy' },
  },
  full: {
    does: 'replies that the mailbox is full: 452 4.2.2',
    outcome: 'delayed and retried, expires after 4 days',
    rcpt: { code: 452, text: '4.2.2 Mailbox full, try again later' },
  },
  defer: {
    does: 'replies 451 4.3.0 to every attempt',
    outcome: 'delayed and retried, expires after 4 days',
    rcpt: { code: 451, text: '4.3.0 Temporary failure, try again later' },
  },
  greylist: {
    does: 'replies 450 4.2.0 until 30 seconds after the first attempt',
    outcome: 'delayed, delivered by the second attempt after about a minute',
    rcpt: { code: 450, text: '4.2.0 Greylisted, try again in a minute' },
    untilAfterMs: 30_000,
  },
  slow: {
    does: 'takes 8 seconds to reply',
    outcome: 'delivered, slowly',
    delayMs: 8000,
  },
  drop: {
    does: 'closes the connection in the middle of the message',
    outcome: 'delayed and retried, expires after 4 days',
    drop: 'body',
  },
  'tls-broken': {
    does: 'closes the connection at the first mail exchanger and fails the TLS handshake at the second',
    outcome: 'delivered to the second mail exchanger without TLS',
    drop: 'rcpt',
    breakTls: true,
  },
}

/** DNS answers for a recipient domain whose first label is the behavior's name. */
export interface DnsBehavior {
  does: string
  outcome: string
  answer: 'NXDOMAIN' | 'SERVFAIL' | 'null-mx' | 'dead-mx'
}

export const DNS_BEHAVIORS: Record<string, DnsBehavior> = {
  nxdomain: { does: 'the domain does not exist', outcome: 'bounced', answer: 'NXDOMAIN' },
  servfail: { does: 'the name servers return SERVFAIL', outcome: 'delayed', answer: 'SERVFAIL' },
  nullmx: { does: 'the domain accepts no mail: `MX 0 .` (RFC 7505)', outcome: 'bounced', answer: 'null-mx' },
  deadmx: {
    does: 'the first mail exchanger refuses connections',
    outcome: 'delivered to the second mail exchanger',
    answer: 'dead-mx',
  },
}

/** Returns the behavior that an address selects; undefined for plain delivery. */
export function findBehavior(address: string): Behavior | undefined {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  const word = Object.keys(BEHAVIORS).find(
    (name) => local === name || local.startsWith(`${name}+`) || local.startsWith(`${name}-`),
  )
  return word === undefined ? undefined : BEHAVIORS[word]
}

/** Returns the DNS behavior that a domain selects. */
export function findDnsBehavior(domain: string): DnsBehavior | undefined {
  const label = domain.toLowerCase().split('.')[0] ?? ''
  return Object.hasOwn(DNS_BEHAVIORS, label) ? DNS_BEHAVIORS[label] : undefined
}
