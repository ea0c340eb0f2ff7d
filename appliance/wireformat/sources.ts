import type * as doctor from '../http/schemas/doctor.ts'
import type * as schema from '../http/schemas/sources.ts'
import { OTHER_TEAMS, type Finding } from '../mail/finding.ts'
import type { Assignment, Source } from '../mail/source.ts'
import { timestamp, timestampOrNull } from '../api/timestamp.ts'

const presentFinding = ({ id, title, status, found, advice }: Finding): schema.Finding => ({
  ...{ id, title, status },
  ...{ found, advice },
})

/** GET /sources/:ip, and an element of the list. Of other teams' domains the command line alone tells. */
export function presentSource(source: Source): schema.Source {
  return {
    object: 'source',
    ip: source.ip,
    pool: source.pool,
    hostname: source.hostname,
    state: source.state,
    state_reason: source.stateReason,
    suspended_by: source.suspendedBy,
    warm_up_since: timestampOrNull(source.warmUpSince),
    origin: source.origin,
    ipv6: source.health?.ipv6 ?? null,
    checks: (source.health?.findings ?? [])
      .filter(({ id }) => !id.startsWith(OTHER_TEAMS))
      .map(presentFinding),
    checked_at: timestampOrNull(source.checkedAt),
  }
}

/** An element of GET /sources/assignments. */
export function presentAssignment({ id, teamId, domainId, stream, pool }: Assignment): schema.PoolAssignment {
  return { object: 'pool_assignment', id, team_id: teamId, domain_id: domainId, stream, pool }
}

/** GET /doctor, and what the command prints. `findings` in the order in which they are shown, `at` in Unix milliseconds. */
export function presentDoctor(findings: readonly Finding[], at: number, complete = true): doctor.Doctor {
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
