import type { Personality } from './personality.ts'
import { at, greylist, mostConnections, mostTransactions, oncePer, share, slow, tlsOnly } from './rules.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

const recipientOnce = (seen: { recipients: readonly string[] }): string => seen.recipients.join()

/** Receivers with one unusual behavior each: greylisting, tar pits, broken TLS, broken replies, strange DNS. */
export const ODDITIES: readonly Personality[] = [
  {
    name: 'plain',
    says: 'A plain server.',
    share: 1,
    domains: 10,
    mx: ['mx.plain.test'],
    healthy: true,
  },
  {
    name: 'grey-minute',
    says: 'Greylists each recipient for one minute.',
    share: 0.5,
    mx: ['mx.grey-minute.test'],
    rules: () => [
      greylist({
        wait: MINUTE,
        reply:
          '450 4.2.0 <{recipient}>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/',
      }),
    ],
  },
  {
    name: 'grey-network',
    says: 'Greylists each network and recipient for 15 minutes.',
    share: 0.5,
    mx: ['mx.grey-network.test'],
    rules: () => [
      greylist({
        key: 'network-and-recipient',
        wait: 15 * MINUTE,
        reply: '451 4.7.1 Greylisting in action, please come back later',
      }),
    ],
  },
  {
    name: 'grey-data',
    says: 'Greylists after the message data, with 451.',
    share: 0.5,
    mx: ['mx.grey-data.test'],
    rules: () => [
      greylist({
        wait: 5 * MINUTE,
        when: 'message',
        reply: '451 4.3.0 Message greylisted, try again in 300 seconds',
      }),
    ],
  },
  {
    name: 'tar-pit',
    says: 'Takes 30 seconds for each reply.',
    share: 0.3,
    mx: ['mx.tar-pit.test'],
    rules: () => [slow(30 * SECOND, 'connect', 'hello', 'mail', 'rcpt', 'data', 'message')],
  },
  {
    name: 'slow-end',
    says: 'Takes four minutes to accept each message.',
    share: 0.3,
    mx: ['mx.slow-end.test'],
    rules: () => [slow(4 * MINUTE, 'message')],
  },
  {
    name: 'three-only',
    says: '421 after three messages on a connection.',
    share: 0.5,
    mx: ['mx.three-only.test'],
    rules: () => [mostTransactions(3, '421 4.3.2 Too many messages in this session')],
  },
  {
    name: 'one-at-a-time',
    says: 'One connection per sending IP; others get 421.',
    share: 0.5,
    mx: ['mx.one-at-a-time.test'],
    rules: () => [mostConnections(1, '421 4.7.0 Too many concurrent SMTP connections')],
  },
  {
    name: 'drops-in-data',
    says: 'Drops the connection during DATA, once for each of half the recipients.',
    share: 0.5,
    mx: ['mx.drops-in-data.test'],
    rules: () => [share(50, oncePer('body', recipientOnce, { then: 'reset' }))],
  },
  {
    name: 'drops-after-dot',
    says: 'Accepts the message but drops the connection without a reply, once for each of half the recipients.',
    share: 0.5,
    mx: ['mx.drops-after-dot.test'],
    rules: () => [share(50, oncePer('message', recipientOnce, { then: 'reset' }))],
  },
  {
    name: 'resets',
    says: 'Resets every third connection immediately.',
    share: 0.5,
    mx: ['mx.resets.test'],
    rules: () => {
      let count = 0
      return [({ at: when }) => (when === 'connect' && count++ % 3 === 0 ? { then: 'reset' } : undefined)]
    },
  },
  {
    name: 'tls-broken',
    says: 'The TLS handshake fails.',
    share: 0.4,
    mx: ['mx.tls-broken.test'],
    tls: 'broken',
  },
  {
    name: 'tls-expired',
    says: 'An expired certificate.',
    share: 0.4,
    mx: ['mx.tls-expired.test'],
    tls: 'expired',
    healthy: true,
  },
  {
    name: 'tls-refused',
    says: 'Offers STARTTLS but answers it with 454.',
    share: 0.4,
    mx: ['mx.tls-refused.test'],
    tls: 'refused',
  },
  {
    name: 'tls-only',
    says: 'Accepts mail only over TLS.',
    share: 0.4,
    mx: ['mx.tls-only.test'],
    tls: 'trusted',
    healthy: true,
    rules: () => [tlsOnly],
  },
  {
    name: 'tls-small-hello',
    says: "Resets the connection if the ClientHello doesn't fit into one TCP segment.",
    share: 0.4,
    mx: ['mx.tls-small-hello.test'],
    tls: 'small-hello',
  },
  {
    name: 'tls-garbage',
    says: 'Accepts STARTTLS, then sends something other than TLS.',
    share: 0.4,
    mx: ['mx.tls-garbage.test'],
    tls: 'garbage',
  },
  {
    name: 'greets-554',
    says: 'Greets every other connection with 554.',
    share: 0.3,
    mx: ['mx.greets-554.test'],
    rules: () => {
      let count = 0
      return [
        ({ at: when }) =>
          when === 'connect' && count++ % 2 === 0
            ? { say: '554 No SMTP service here', then: 'close' }
            : undefined,
      ]
    },
  },
  {
    name: 'greets-long',
    says: 'Sends a greeting of many lines.',
    share: 0.3,
    mx: ['mx.greets-long.test'],
    greeting: {
      say: '220-Welcome to\n220-our very own server,\n220-which does not like spam\n220 mx.greets-long.test ready',
    },
    healthy: true,
  },
  {
    name: 'greets-bare',
    says: 'Sends a greeting of three digits and nothing else.',
    share: 0.3,
    mx: ['mx.greets-bare.test'],
    greeting: { say: '220' },
    healthy: true,
  },
  {
    name: 'half-greeting',
    says: 'Sends half a greeting, then nothing, on every fourth connection.',
    share: 0.2,
    mx: ['mx.half-greeting.test'],
    rules: () => {
      let count = 0
      return [
        ({ at: when }) =>
          when === 'connect' && count++ % 4 === 0 ? { raw: '220-mx.half', then: 'silence' } : undefined,
      ]
    },
  },
  {
    name: 'half-replies',
    says: 'Answers RCPT with two codes in one reply, once for each recipient.',
    share: 0.3,
    mx: ['mx.half-replies.test'],
    rules: () => [oncePer('rcpt', ({ recipient }) => recipient, { raw: '250-fine\r\n550 not fine\r\n' })],
  },
  {
    name: 'no-line-end',
    says: 'Answers DATA without a line ending, then sends nothing, once for each recipient.',
    share: 0.2,
    mx: ['mx.no-line-end.test'],
    rules: () => [oncePer('data', recipientOnce, { raw: '354 go on', then: 'silence' })],
  },
  {
    name: 'helo-only',
    says: 'Supports only HELO.',
    share: 0.4,
    mx: ['mx.helo-only.test'],
    extensions: null,
    healthy: true,
  },
  {
    name: 'no-pipelining',
    says: "Doesn't offer PIPELINING.",
    share: 0.4,
    mx: ['mx.no-pipelining.test'],
    extensions: ['8BITMIME', 'SIZE 35882577'],
    healthy: true,
  },
  {
    name: 'hates-rset',
    says: 'Closes the connection at RSET.',
    share: 0.3,
    mx: ['mx.hates-rset.test'],
    rules: () => [at('rset', { then: 'close' })],
  },
  {
    name: 'small',
    says: 'Accepts messages of up to 100 octets.',
    share: 0.2,
    mx: ['mx.small.test'],
    extensions: ['PIPELINING', 'SIZE 100'],
    end: 'bounced',
  },
  {
    name: 'seven-bit',
    says: "Doesn't offer 8BITMIME.",
    share: 0.3,
    mx: ['mx.seven-bit.test'],
    extensions: ['PIPELINING', 'SIZE 35882577'],
    healthy: true,
  },
  {
    name: 'half-dead',
    says: "The first MX doesn't respond.",
    share: 0.5,
    mx: ['dead:mx1.half-dead.test', 'mx2.half-dead.test'],
  },
  {
    name: 'implicit',
    says: 'Has no MX record; the domain itself is the mail exchanger.',
    share: 0.3,
    mx: ['implicit.test'],
    dns: 'implicit',
    healthy: true,
  },
  {
    name: 'null-mx',
    says: 'Publishes a null MX: accepts no mail.',
    share: 0.2,
    mx: [],
    dns: 'null-mx',
    end: 'bounced',
  },
  {
    name: 'no-such-domain',
    says: "The domain doesn't exist.",
    share: 0.2,
    mx: [],
    dns: 'absent',
    end: 'bounced',
  },
  {
    name: 'servfail',
    says: 'DNS fails for the first hour.',
    share: 0.2,
    mx: ['mx.servfail.test'],
    dns: 'servfail-first',
  },
  {
    name: 'blocked',
    says: 'Blocks our IPs permanently (S3140).',
    share: 0.1,
    mx: ['mx.blocked.test'],
    end: null,
    rules: () => [
      at(
        'mail',
        "550 5.7.1 Unfortunately, messages from [{ip}] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3140).",
      ),
    ],
  },
  {
    name: 'never',
    says: 'Defers every attempt.',
    share: 0.1,
    mx: ['mx.never.test'],
    end: 'expired',
    rules: () => [at('rcpt', '451 4.3.0 Not now')],
  },
  {
    name: 'down',
    says: 'Accepts no connections.',
    share: 0.1,
    mx: ['dead:mx.down.test'],
    end: 'expired',
  },
]
