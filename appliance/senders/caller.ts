import type { ApiKey } from '../storage/storage.ts'

/** On whose behalf something is asked: an app with its key, or a signed-in person (no key). */
export interface Caller {
  teamId: string
  apiKey: ApiKey | null
}
