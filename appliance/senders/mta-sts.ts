/**
 * The MTA-STS policy (RFC 8461) of a subdomain that a sending domain delegates to us: we are its mail exchanger, so we
 * can say whether mail to the subdomain must be encrypted. Pure.
 */
import { createHash } from 'node:crypto'

/** The path of the policy file (RFC 8461 §3.3). */
export const POLICY_PATH = '/.well-known/mta-sts.txt'

/** Returns the name of the host that serves the policy of a subdomain (RFC 8461 §3.3). */
export const getPolicyHost = (apex: string): string => `mta-sts.${apex}`

/** How long senders keep the policy, in seconds. */
const MAX_AGE = 7 * 86_400

/**
 * Returns the content of the policy file (RFC 8461 §3.2).
 * @param trustedUntil when the certificate of the mail exchanger expires, in Unix milliseconds; 0 if senders don't
 * accept it. A sender that has just fetched the policy must accept the certificate for as long as it caches the policy.
 * Otherwise, the policy only asks for reports.
 */
export function formatPolicyFile(hostname: string, trustedUntil: number, now: number): string {
  const mode = trustedUntil - now > MAX_AGE * 1000 ? 'enforce' : 'testing'
  const lines = ['version: STSv1', `mode: ${mode}`, `mx: ${hostname.toLowerCase()}`, `max_age: ${MAX_AGE}`]
  return lines.map((line) => `${line}\r\n`).join('')
}

/**
 * Returns the TXT record of a policy (RFC 8461 §3.1). The policy id is derived from the content, so it changes only
 * when the content does.
 */
export function buildPolicyRecord(apex: string, file: string): { name: string; type: 'TXT'; value: string } {
  const id = createHash('sha256').update(file).digest('hex').slice(0, 32)
  return { name: `_mta-sts.${apex}`, type: 'TXT', value: `v=STSv1; id=${id};` }
}
