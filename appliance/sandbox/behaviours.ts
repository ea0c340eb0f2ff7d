/**
 * What the sandbox's mail exchangers and DNS do for each recipient. The local part (before any `+` or `-`) names the
 * exchanger's behavior, the first label of the domain that of DNS. Mail to any other address is delivered.
 * docs/sandbox.md is generated from these tables.
 */

/** How an exchanger treats one recipient. */
export interface Behaviour {
  /** What the exchanger does, for docs/sandbox.md. */
  does: string
  /** Result of the delivery. */
  outcome: string
  /** Answer to RCPT. */
  rcpt?: { code: number; text: string }
  /** Answer after the final dot. */
  body?: { code: number; text: string }
  /** Refuses as in `rcpt` until the same recipient is tried again this many milliseconds later. */
  untilAfterMs?: number
  /** Milliseconds before the answer to RCPT. */
  delayMs?: number
  /** Closes the connection without a word at this point. */
  drop?: 'rcpt' | 'body'
  /** Lets the TLS handshake of the domain's second exchanger fail. */
  breakTls?: true
}

export const BEHAVIOURS: Record<string, Behaviour> = {
  bounce: {
    does: 'refuses the recipient: 550 5.1.1',
    outcome: 'bounced',
    rcpt: { code: 550, text: '5.1.1 The mailbox does not exist here' },
  },
  blocked: {
    does: 'refuses the message after its body: 554 5.7.1',
    outcome: 'bounced',
    body: { code: 554, text: '5.7.1 Message refused by local policy' },
  },
  full: {
    does: 'reports a full mailbox: 452 4.2.2',
    outcome: 'deferred and retried, expired after four days',
    rcpt: { code: 452, text: '4.2.2 The mailbox is full, try again later' },
  },
  defer: {
    does: 'answers 451 4.3.0 to every attempt',
    outcome: 'deferred and retried, expired after four days',
    rcpt: { code: 451, text: '4.3.0 Temporary trouble, try again later' },
  },
  greylist: {
    does: 'answers 450 4.2.0 until 30 seconds after the first attempt',
    outcome: 'deferred, then delivered by the second attempt after about a minute',
    rcpt: { code: 450, text: '4.2.0 Greylisted, come back in a minute' },
    untilAfterMs: 30_000,
  },
  slow: {
    does: 'takes 8 seconds to answer',
    outcome: 'delivered, slowly',
    delayMs: 8000,
  },
  drop: {
    does: 'closes the connection in the middle of the message',
    outcome: 'deferred and retried, expired after four days',
    drop: 'body',
  },
  'tls-broken': {
    does: 'drops the connection at the first exchanger and fails the TLS handshake at the second',
    outcome: 'delivered to the second exchanger in plain text',
    drop: 'rcpt',
    breakTls: true,
  },
}

/** What DNS answers for a recipient domain whose first label is the key. */
export interface DnsBehaviour {
  does: string
  outcome: string
  answer: 'NXDOMAIN' | 'SERVFAIL' | 'null-mx' | 'dead-mx'
}

export const DNS_BEHAVIOURS: Record<string, DnsBehaviour> = {
  nxdomain: { does: 'the domain does not exist', outcome: 'bounced', answer: 'NXDOMAIN' },
  servfail: { does: 'the name servers answer SERVFAIL', outcome: 'deferred', answer: 'SERVFAIL' },
  nullmx: { does: 'the domain accepts no mail: `MX 0 .` (RFC 7505)', outcome: 'bounced', answer: 'null-mx' },
  deadmx: {
    does: 'the first mail exchanger refuses connections',
    outcome: 'delivered to the second',
    answer: 'dead-mx',
  },
}

/** The behavior that an address selects; undefined for normal delivery. */
export function behaviourFor(address: string): Behaviour | undefined {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  const word = Object.keys(BEHAVIOURS).find(
    (name) => local === name || local.startsWith(`${name}+`) || local.startsWith(`${name}-`),
  )
  return word === undefined ? undefined : BEHAVIOURS[word]
}

/** The DNS behavior that a domain selects; undefined for normal answers. */
export function dnsBehaviourFor(domain: string): DnsBehaviour | undefined {
  const label = domain.toLowerCase().split('.')[0] ?? ''
  return Object.hasOwn(DNS_BEHAVIOURS, label) ? DNS_BEHAVIOURS[label] : undefined
}
