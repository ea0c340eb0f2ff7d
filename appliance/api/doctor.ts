import type { Static } from 'typebox'
import { array, boolean, kind, literals, object, string } from './schemas.ts'
import { Timestamp } from './shared.ts'
import { presentFinding } from './sources.ts'
import { Finding } from './sources.ts'
import type { Finding as NodeFinding } from '../mail/finding.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { query, text, flag } from './parameters.ts'

/** GET /doctor. Not part of the hosted API. */
export const DoctorReport = object('The results of the self-check.', {
  object: kind('doctor'),
  status: literals(['failed', 'warning', 'ok'], 'The worst status of all checks, without skipped ones.'),
  complete: boolean('False while checks are running; only with `wait=false`.'),
  checked_at: Timestamp,
  checks: array(Finding, 'Failures first.'),
})
export type DoctorReport = Static<typeof DoctorReport>

const operation = operationsIn('Service')

export const getDoctor = operation('GET /doctor', {
  summary: 'Run the self-checks',
  description:
    'Checks port 25, reverse DNS, blocklists, resolver, clock, disk, certificate and domain records. Takes a few seconds. For the team that operates the server.',
  querystring: query({
    domain: text(
      string('Only the DNS records and blocklist entries of this domain of the team.', {
        examples: ['acme.example'],
      }),
      'one name',
    ),
    wait: flag(
      true,
      '`false`: return immediately with the results so far. Repeat until the result is complete.',
    ),
  }),
  response: { 200: DoctorReport },
})
export const getLatestDoctor = operation('GET /doctor/latest', {
  summary: 'Get the latest self-check',
  description:
    'The results of the last complete self-check, without waiting. Results older than 15 minutes are renewed in the background. `complete` is false before the first. For the team that operates the server.',
  response: { 200: DoctorReport },
})

/**
 * Formats the response of GET /doctor and the command's JSON. `findings` in display order, `at` in Unix milliseconds.
 */
export function presentDoctorReport(
  findings: readonly NodeFinding[],
  at: number,
  complete = true,
): DoctorReport {
  const worst = (['failed', 'warning'] as const).find((status) =>
    findings.some((one) => one.status === status),
  )
  return {
    object: 'doctor',
    status: worst ?? 'ok',
    complete,
    checked_at: timestamp(at),
    checks: findings.map(presentFinding),
  }
}
