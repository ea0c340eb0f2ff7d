import { listApiKeys, listDomains, listEmails } from '../api/calls.ts'
import { hasArrived, type Facts } from './set-up.ts'

/**
 * Number of recent emails that are considered. A bounce after a delivered email doesn't make the setup step incomplete
 * again.
 */
const LOOKED_AT = 20

/** Loads the state that the setup steps depend on. */
export async function loadFacts(signal: AbortSignal): Promise<Facts> {
  const [domains, keys, emails] = await Promise.all([
    listDomains(signal),
    listApiKeys(signal),
    listEmails({}, LOOKED_AT, signal),
  ])
  return {
    domains: domains.data,
    keys: keys.data.length,
    email: emails.data.find(hasArrived) ?? emails.data[0] ?? null,
  }
}
