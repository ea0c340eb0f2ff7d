import { RETURN_BEHAVIORS } from '../../appliance/sandbox/returned.ts'
import { BEHAVIORS, DNS_BEHAVIORS } from '../../appliance/sandbox/behaviours.ts'

const table = (head: string, rows: [string, { does: string; outcome: string }][]): string =>
  [
    `| ${head} | behavior | outcome |`,
    '| --- | --- | --- |',
    ...rows.map(([name, { does, outcome }]) => `| \`${name}\` | ${does} | ${outcome} |`),
  ].join('\n')

/** Renders docs/sandbox.md from the tables that the sandbox uses. */
export function renderSandboxDocs(): string {
  return `# The sandbox

To try Posthaste without sending real mail, run \`./scripts/start\` without a configuration file. It starts the complete server with a simulated
internet on loopback. A DNS server resolves every domain, and each domain has two mail exchangers, \`mx1\` and \`mx2\`. The delivery path is the same
as in production: MX lookups, TLS, SMTP and retries. The sandbox verifies incoming mail (DKIM, SPF, DMARC). You can read it in the dashboard's Inbox or with \`GET /sandbox/messages\`.
Each team sees its own mail there. The first team also sees mail that belongs to no team, such as bounces passed back to an app. It also sees mail that the server
itself sends. That includes password reset links, so do not use the sandbox for anything that must stay secret.

The first start creates a team, an owner, the verified domain \`example.test\` and an API key. Every start prints them. Domains that you add are verified immediately, because
the sandbox publishes their records. All data is in the folder \`.sandbox/\`; to start over, delete it.

## Simulate failures

The local part of the address selects how the mail exchanger behaves. It may be followed by \`+\` or \`-\` and any text (\`bounce+7@any.test\`):

${table(
  'recipient',
  Object.entries(BEHAVIORS).map(([name, behaviour]) => [`${name}@`, behaviour]),
)}

The first label of the domain selects the DNS answer:

${table(
  'domain',
  Object.entries(DNS_BEHAVIORS).map(([name, behaviour]) => [`@${name}.…`, behaviour]),
)}

All other recipients accept the mail.

## Simulate returned mail

These recipients accept the mail. Three seconds later they send a message back, through the same checks as mail on port 25 ([receiving.md](receiving.md)):

${table(
  'recipient',
  Object.entries(RETURN_BEHAVIORS).map(([name, one]) => [`${name}@`, one]),
)}

Bounces and complaints go to the email's return path, and reports to the \`rua\` address of the From domain's DMARC record ([reports.md](reports.md)). Webhooks receive \`email.bounced\`, \`email.complained\` and \`email.received\` as in production. For replies, turn on
Receiving in the settings of the domain.
`
}
