import { listApiKeys, listDomains, listEmails } from '../api/calls.ts'
import { hasArrived, type SetupFacts } from './set-up.ts'

/**
 * Number of recent emails to check for a delivered one. A bounce after a delivered email must not make the setup step
 * incomplete again.
 */
const LOOKED_AT = 20

/** Loads the state that the setup steps depend on. */
export async function loadSetupFacts(signal: AbortSignal): Promise<SetupFacts> {
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
