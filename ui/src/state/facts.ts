import { listApiKeys, listDomains, listEmails } from '../api/calls.ts'
import { hasArrived, type Facts } from './set-up.ts'

/** Of so many emails one may have arrived; a bounce after it does not undo the first run. */
const LOOKED_AT = 20

/** Reads what the first run goes by. */
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
