import type { Health } from '../../../appliance/api/health.ts'
import { request } from './client.ts'

/** Returns the server's health. A response that reports an unhealthy server isn't an error. */
export async function getHealth(signal?: AbortSignal): Promise<Health> {
  const answer = await request('/readyz', { alsoTaken: 503, ...(signal && { signal }) })
  return (await answer.json()) as Health
}
