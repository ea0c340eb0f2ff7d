import type { Health } from '../../../appliance/api/health.ts'
import { request } from './client.ts'

/** How the server is: that it is not well is an answer too. */
export async function getHealth(signal?: AbortSignal): Promise<Health> {
  const answer = await request('/readyz', { alsoTaken: 503, ...(signal && { signal }) })
  return (await answer.json()) as Health
}
