import type { Session } from './accounts.ts'

/** A person's own sessions, in whichever team they are. */
export interface SessionStorage {
  /** Those that have not ended, the one used last first. */
  listSessions(args: { userId: string }, now: number): Promise<Session[]>
  /** Ends one of the person's own; false when there is no such session. */
  endSession(args: { userId: string; id: string }, now: number): Promise<boolean>
  /** Ends all of the person's but `keep` (a token hash); returns how many. */
  endSessions(args: { userId: string; keep: string | null }, now: number): Promise<number>
  /** Lets a session go on under the hash of another token; false when it has ended. */
  renewSession(args: { tokenHash: string; renewed: string }, now: number): Promise<boolean>
}
