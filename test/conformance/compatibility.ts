/** The table in docs/api-compatibility.md, made from what the suite found. */
import { DEVIATIONS } from './deviations.ts'
import { OPERATIONS } from './upstream.ts'

/** Why a part of the hosted API is not answered: by the beginning of its path. The longest that fits counts. */
const REASONS: Record<string, { answer: 'on purpose' | 'later'; note: string }> = {
  '/emails/receiving': { answer: 'later', note: 'with receiving mail' },
  '/domains/claim': {
    answer: 'on purpose',
    note: 'a server has one owner: there is nobody to claim a domain from',
  },
  '/domains/claims': { answer: 'on purpose', note: 'as `/domains/claim`' },
  '/domains/{domain_id}/claim': { answer: 'on purpose', note: 'as `/domains/claim`' },
  '/oauth': { answer: 'on purpose', note: 'keys are the only way in for apps' },
  '/templates': { answer: 'later', note: 'with the audience' },
  '/audiences': { answer: 'later', note: 'with the audience' },
  '/contacts': { answer: 'later', note: 'with the audience' },
  '/contact-properties': { answer: 'later', note: 'with the audience' },
  '/segments': { answer: 'later', note: 'with the audience' },
  '/topics': { answer: 'later', note: 'with the audience' },
  '/broadcasts': { answer: 'later', note: 'with the audience' },
  '/automations': { answer: 'on purpose', note: 'not planned: a workflow engine beside the apps that send' },
  '/events': { answer: 'on purpose', note: 'only feeds automations' },
}

/** What clients call and the document lacks; here it is answered as the rest of its part of the API is. */
export const CALLED: readonly string[] = [
  'GET /audiences/{audience_id}/contacts',
  'POST /audiences/{audience_id}/contacts',
  'GET /audiences/{audience_id}/contacts/{contact}',
  'PATCH /audiences/{audience_id}/contacts/{contact}',
  'DELETE /audiences/{audience_id}/contacts/{contact}',
  'GET /segments/{id}/contacts',
  'PATCH /segments/{id}',
  'POST /broadcasts/{id}/duplicate',
  'GET /domains/claims',
  'POST /domains/claims',
]

/** The reason for an operation that is not done; undefined when nobody gave one. */
export const reasonFor = (path: string): { answer: 'on purpose' | 'later'; note: string } | undefined => {
  const fits = Object.keys(REASONS).filter((start) => path === start || path.startsWith(`${start}/`))
  return REASONS[fits.toSorted((a, b) => b.length - a.length)[0] ?? '']
}

/** What a request to an operation that is not done was answered. */
export type Probe = { status: number; name: string }

/**
 * The page.
 * @param done operations that answered in the right shape
 * @param probes what the others answered
 */
export function compatibilityPage(done: ReadonlySet<string>, probes: ReadonlyMap<string, Probe>): string {
  const row = (key: string) => {
    if (!done.has(key)) return `| \`${key}\` | ${openRow(key, probes.get(key)?.status ?? 0)} |`
    const names = new Set(DEVIATIONS.filter(({ at }) => at.startsWith(`${key} `)).map(({ name }) => name))
    return `| \`${key}\` | done | ${[...names].join('; ')} |`
  }
  const count = OPERATIONS.filter(({ key }) => done.has(key)).length
  return `# Compatibility with the hosted API

Made by \`test/conformance\` (\`npx vitest run test/conformance -u\`), not by hand. The suite drives the whole appliance through the official npm
client and validates every answer with the hosted service's OpenAPI document (version 1.5.0). **done** means that the answer had the right
status, every field of the document with its type and format, and that the client took it. ${count} of ${OPERATIONS.length} operations are done.

| Operation | Here | Note |
|---|---|---|
${OPERATIONS.map(({ key }) => row(key)).join('\n')}

Where this server lacks a part of the API, the message of the 404 names the part.

## Called by clients, but not in the document

| Operation | Here | Note |
|---|---|---|
${CALLED.map(row).join('\n')}

## Where the document itself is wrong

The service and its clients differ from the document in these points; the suite expects what the clients rely on.

${deviationList()}
`
}

function openRow(key: string, status: number): string {
  const { answer, note = '' } = reasonFor(key.split(' ')[1]!) ?? {}
  return answer === 'later' ? `later | ${note}; today ${status}` : `${status} on purpose | ${note}`
}

function deviationList(): string {
  const lines = DEVIATIONS.map(({ name, at, reason }) => `- \`${at.slice(0, -4)}\`: ${name} (${reason}).`)
  return [...new Set(lines)].join('\n')
}
