import type { Role } from '../mail/roles.ts'
import type { ApiKey } from '../storage/storage.ts'

/** Who makes a request: an app with its key, or a signed-in person (no key). */
export interface Caller {
  teamId: string
  apiKey: ApiKey | null
  /** The address of the person; absent for an app. */
  user?: string
  /** Id of the person; absent for an app. */
  userId?: string
  /** The person's role in the team; absent for an app, which is restricted by its key's permission. */
  role?: Role
}
