import type * as schema from '../http/schemas/tls.ts'
import type { TlsPolicyView } from '../mail/tls-policy.ts'
import type { TlsTally } from '../storage/storage.ts'
import { timestamp } from '../api/timestamp.ts'

/** GET /tls/policies/:domain, and `tls policy`. */
export function presentTlsPolicy(view: TlsPolicyView): schema.TlsPolicy {
  const { mtaSts } = view
  return {
    object: 'tls_policy',
    domain: view.domain,
    validating: view.validating,
    mx_authentic: view.mxAuthentic,
    mta_sts: mtaSts && {
      ...{ mode: mtaSts.mode, id: mtaSts.id, mx: mtaSts.mx, max_age: mtaSts.maxAge },
      fetched_at: timestamp(mtaSts.fetchedAt),
      expires_at: timestamp(mtaSts.expiresAt),
    },
    troubles: view.troubles,
    hosts: view.hosts,
    reports_to: view.reportsTo,
  }
}

const orNull = (text: string): string | null => (text === '' ? null : text)

/** An element of GET /tls/results. */
export function presentTlsResult(one: TlsTally): schema.TlsResult {
  return {
    ...{ day: one.day, domain: one.domain, policy: one.policy.type, result: one.result },
    ...{ host: orNull(one.mxHost), ip: orNull(one.mxIp), source_ip: orNull(one.sourceIp) },
    ...{ reason: orNull(one.reason), sessions: one.sessions },
  }
}
