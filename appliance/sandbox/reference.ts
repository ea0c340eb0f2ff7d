import { BEHAVIOURS, DNS_BEHAVIOURS } from './behaviours.ts'

const table = (head: string, rows: [string, { does: string; outcome: string }][]): string =>
  [
    `| ${head} | what it meets | what becomes of the email |`,
    '| --- | --- | --- |',
    ...rows.map(([name, { does, outcome }]) => `| \`${name}\` | ${does} | ${outcome} |`),
  ].join('\n')

/** docs/sandbox.md, from the tables that the sandbox works by. */
export function renderSandbox(): string {
  return `# The sandbox

\`./scripts/start\` without a configuration file runs the whole appliance against a small internet of its own, on loopback: a DNS server that knows every
domain, and two mail exchangers, \`mx1\` and \`mx2\` of whatever domain is asked for. The mail path does not know the difference: it looks up MX records, dials, agrees
on TLS, speaks SMTP, retries. What arrives is verified (DKIM, SPF, DMARC) and shown in the dashboard's Inbox and under \`GET /sandbox/messages\`.
Each team sees its own mail there. What is no team's, such as a bounce that is passed back to an app, is shown to the first team, and so are the mails of the appliance itself: links to
set a password, too, which is why the sandbox is for trying and not for guarding anything.

The first start makes a team, an owner, the verified domain \`example.test\` and an API key; every start prints them again. Domains that you add are verified at once: the sandbox
publishes the records that they need. Everything is in the folder \`.sandbox/\`; delete it to begin anew.

## The recipient chooses

The local part of the address, alone or followed by \`+\` or \`-\` and anything (\`bounce+7@any.test\`), chooses what the exchanger does:

${table(
  'recipient',
  Object.entries(BEHAVIOURS).map(([name, behaviour]) => [`${name}@`, behaviour]),
)}

The first label of the domain chooses what the DNS says:

${table(
  'domain',
  Object.entries(DNS_BEHAVIOURS).map(([name, behaviour]) => [`@${name}.…`, behaviour]),
)}

Everybody else takes the mail.
`
}
