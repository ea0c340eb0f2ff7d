import type { Role } from '../mail/roles.ts'
import type { ApiKey } from '../storage/storage.ts'

/** On whose behalf something is asked: an app with its key, or a signed-in person (no key). */
export interface Caller {
  teamId: string
  apiKey: ApiKey | null
  /** The address of the person; absent for an app. */
  user?: string
  /** Id of the person; absent for an app. */
  userId?: string
  /** What the person is in the team; absent for an app, which its key's permission restricts. */
  role?: Role
}
