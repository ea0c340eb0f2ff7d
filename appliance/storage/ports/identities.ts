/** Who people are at identity providers: further ways in, beside or in the place of a password. */
import type { Role } from '../../mail/roles.ts'
import type { User } from './accounts.ts'

/** What a provider calls a person, and whom that means here. */
export interface Identity {
  id: string
  userId: string
  /** The row of `sign_in.providers` that it came through. */
  provider: string
  /** With `subject` the name of the person at the provider, which is never given to somebody else. */
  issuer: string
  subject: string
  /** The address that the provider told last: for people to see which account it is, and for nothing else. */
  email: string
  createdAt: number
  /** The last sign-in by it; null: none yet. */
  lastUsedAt: number | null
}

/** Where somebody new belongs: what becomes of an invitation, or of `join` in the configuration. */
export interface Admission {
  teamId: string
  role: Role
}

export interface IdentityStorage {
  findIdentity(args: { issuer: string; subject: string }, now: number): Promise<Identity | undefined>
  /** The oldest first. */
  listIdentities(args: { userId: string }, now: number): Promise<Identity[]>
  /** `taken` when it means another person; what is linked already stays, with the new address. */
  linkIdentity(args: { identity: Identity }, now: number): Promise<'linked' | 'taken'>
  /** Notes a sign-in by it, and the address of today. */
  useIdentity(args: { id: string; email: string }, now: number): Promise<void>
  /**
   * Removes one and ends the sessions that were begun by its provider, but `keep` (a token hash), for which the provider
   * vouches no more. `last` when the user has no
   * password, no passkey and no other identity of `providers`: then it stays, and with it a way in.
   */
  unlinkIdentity(
    args: { userId: string; id: string; providers: string[]; keep: string | null },
    now: number,
  ): Promise<'unlinked' | 'last' | 'missing'>
  /**
   * Makes a person who has no password, with the identity, a member of every team that invited the address, or of `join`
   * where none did; the invitations are used up. Undefined when nobody invited and there is no `join`, when its team is gone,
   * and when the address or the identity is somebody's meanwhile: nothing is made then.
   */
  admitNewcomer(
    args: { user: User; identity: Identity; join: Admission | null },
    now: number,
  ): Promise<Admission[] | undefined>
}
