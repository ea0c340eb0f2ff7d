import type { Personality } from './personality.ts'
import { greylist, mostConnections, mostTransactions, rate, signedOnly } from './rules.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/**
 * Receivers modeled on the big providers. Their replies are the providers' own (config/bounces.toml names the sources).
 * Their limits are plausible guesses, because no provider publishes its limits.
 */
export const PROVIDERS: readonly Personality[] = [
  {
    name: 'gmail',
    says: 'A rate limit per sending IP that grows with its age; requires signatures.',
    share: 45,
    mx: ['gmail-smtp-in.l.google.com', 'alt1.gmail-smtp-in.l.google.com'],
    unknown:
      "550-5.1.1 The email account that you tried to reach does not exist. Please try\n550-5.1.1 double-checking the recipient's email address for typos or\n550 5.1.1 unnecessary spaces. For more information, go to https://support.google.com/mail/?p=NoSuchUser - gsmtp",
    full: "452-4.2.2 The recipient's inbox is out of storage space. Please direct the\n452 4.2.2 recipient to https://support.google.com/mail/?p=OverQuotaTemp - gsmtp",
    rules: () => [
      signedOnly(
        '550-5.7.26 Your email has been blocked because the sender is unauthenticated.\n550 5.7.26 Gmail requires all senders to authenticate with either SPF or DKIM. - gsmtp',
      ),
      rate({
        perMinute: 300,
        growth: 1.5,
        penalty: 10 * MINUTE,
        then: 'close',
        reply:
          '421-4.7.28 Gmail has detected an unusual rate of unsolicited mail originating\n421-4.7.28 from your IP address {ip}. To protect our users from spam, mail sent\n421 4.7.28 from your IP address has been temporarily rate limited. - gsmtp',
      }),
    ],
  },
  {
    name: 'outlook',
    says: 'Microsoft consumer mailboxes: "server busy" above the rate limit.',
    share: 12,
    domains: 3,
    mx: ['*.olc.protection.outlook.com'],
    tls: 'self-signed',
    unknown: '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).',
    full: '452 4.2.2 The recipient mailbox is full',
    rules: () => [
      mostConnections(
        20,
        '451 4.7.652 The mail server [{ip}] has exceeded the maximum number of connections. (S3115)',
      ),
      rate({
        perMinute: 400,
        growth: 2,
        penalty: 15 * MINUTE,
        reply:
          '451 4.7.650 The mail server [{ip}] has been temporarily rate limited due to IP reputation. (S775)',
      }),
    ],
  },
  {
    name: 'yahoo',
    says: 'Defers a sending IP with TSS04 after unexpected volume; 20 messages per connection.',
    share: 10,
    domains: 2,
    mx: ['mta5.am0.yahoodns.net', 'mta6.am0.yahoodns.net', 'mta7.am0.yahoodns.net'],
    unknown: "554 delivery error: dd This user doesn't have a yahoo.com account ({recipient}) [0]",
    full: '452 4.2.2 Mailbox full',
    rules: () => [
      mostTransactions(
        20,
        '421 4.7.0 [GL01] Too many messages on this connection; see https://postmaster.yahooinc.com/error-codes',
      ),
      rate({
        perMinute: 500,
        growth: 2,
        penalty: 30 * MINUTE,
        then: 'close',
        reply:
          '421 4.7.0 [TSS04] Messages from {ip} temporarily deferred due to unexpected volume or user complaints - 4.16.55.1; see https://postmaster.yahooinc.com/error-codes',
      }),
    ],
  },
  {
    name: 'business',
    says: 'Companies on Microsoft 365: one provider behind many domains.',
    share: 8,
    domains: 12,
    mx: ['*.mail.protection.outlook.com'],
    tls: 'self-signed',
    unknown:
      '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient {recipient} not found by SMTP address lookup',
    full: "452 4.2.2 The recipient's mailbox is full and can't accept messages now.",
    healthy: true,
  },
  {
    name: 'icloud',
    says: '421 after five messages on a connection.',
    share: 6,
    domains: 2,
    mx: ['mx01.mail.icloud.com', 'mx02.mail.icloud.com'],
    unknown: '550 5.1.1 <{recipient}>: user lookup success but no user record found',
    full: '452 4.2.2 <{recipient}>: user is over quota',
    healthy: true,
    rules: () => [
      mostTransactions(5, '421 4.7.1 Messages from this connection limited; try again on another one'),
    ],
  },
  {
    name: 'comcast',
    says: 'Throttles with RL000010 above the rate limit.',
    share: 2,
    mx: ['mx1a1.comcast.net', 'mx2h1.comcast.net'],
    unknown: '550 5.1.1 Not our Customer',
    rules: () => [
      rate({
        perMinute: 120,
        penalty: 5 * MINUTE,
        then: 'close',
        reply:
          '421 4.1.0 {ip} Throttled - try again later. Please see https://postmaster.comcast.net/smtp-error-codes.php#RL000010',
      }),
    ],
  },
  {
    name: 'orange',
    says: 'Two connections per sending IP; the third gets 421.',
    share: 2,
    mx: ['smtp-in.orange.fr'],
    unknown: '550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416 [416]',
    healthy: true,
    rules: () => [
      mostConnections(
        2,
        '421 ME Trop de connexions, veuillez verifier votre configuration. Too many connections, slow down. OFR004_104 [104]',
      ),
    ],
  },
  {
    name: 'gmx',
    says: 'Valid TLS; 100 messages per connection.',
    share: 2,
    domains: 3,
    mx: ['mx00.emig.gmx.net', 'mx01.emig.gmx.net'],
    tls: 'trusted',
    unknown:
      '550-Requested action not taken: mailbox unavailable\n550 For explanation visit https://postmaster.gmx.net/en/case?c=r0000',
    healthy: true,
    rules: () => [mostTransactions(100, '421 Too many messages on this connection')],
  },
  {
    name: 't-online',
    says: 'Refuses an unknown sending IP with 554 for two hours.',
    share: 1,
    mx: ['mx00.t-online.de', 'mx01.t-online.de'],
    unknown: '550 5.1.1 unknown recipient',
    rules: () => [
      greylist({
        key: 'source',
        wait: 2 * HOUR,
        when: 'connect',
        reply:
          '554 IP={ip} - A problem occurred. (Ask your postmaster for help or to contact tosa@rx.t-online.de to clarify.)',
      }),
    ],
  },
]
