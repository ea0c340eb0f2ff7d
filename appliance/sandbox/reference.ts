import { BEHAVIOURS, DNS_BEHAVIOURS } from './behaviours.ts'

const table = (head: string, rows: [string, { does: string; outcome: string }][]): string =>
  [
    `| ${head} | what happens | result |`,
    '| --- | --- | --- |',
    ...rows.map(([name, { does, outcome }]) => `| \`${name}\` | ${does} | ${outcome} |`),
  ].join('\n')

/** Renders docs/sandbox.md from the tables that the sandbox uses. */
export function renderSandbox(): string {
  return `# The sandbox

\`\`\`sh
./scripts/start
curl http://127.0.0.1:8025/sandbox/messages -H "Authorization: Bearer $KEY"
\`\`\`

Without a configuration file, \`./scripts/start\` runs Posthaste in the sandbox. Nothing leaves the machine. A simulated internet on loopback has a DNS server that knows every
domain, and two mail exchangers, \`mx1\` and \`mx2\`, for each domain. Mail takes the same path as in production: MX lookup, connection, TLS, SMTP, retries.

The first start creates a team, an owner, the verified domain \`example.test\` and an API key. Every start prints them. Domains that you add are verified at once, because the sandbox
publishes their records. All data is in the folder \`.sandbox/\`; delete it to start over.

The sandbox verifies arriving mail (DKIM, SPF, DMARC) and shows it in the dashboard's Inbox and under \`GET /sandbox/messages\`. Each team sees its own mail.
The first team also sees mail that belongs to no team, such as a bounce returned to an app. It sees Posthaste's own emails too, including links to set a password. So don't use the sandbox for
anything that needs protection.

## The recipient chooses

The local part of the address decides what the exchanger does. You can add \`+\` or \`-\` and any text to it (\`bounce+7@any.test\`):

${table(
  'recipient',
  Object.entries(BEHAVIOURS).map(([name, behaviour]) => [`${name}@`, behaviour]),
)}

The first label of the domain decides what DNS answers:

${table(
  'domain',
  Object.entries(DNS_BEHAVIOURS).map(([name, behaviour]) => [`@${name}.…`, behaviour]),
)}

Mail to any other address is delivered.
`
}
