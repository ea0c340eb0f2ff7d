/** Handles the first run: the person who opens the link printed by the daemon becomes the owner. */
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import type { Storage, Team, User } from '../storage/storage.ts'
import { recordAuditEntry } from './audit.ts'
import { hashToken, isToken, newToken } from './tokens.ts'

/** How long a setup link is valid, in milliseconds: a day. */
export const SETUP_LIFETIME = 24 * 3_600_000

const KIND = 'set_up'

/** The secret of a setup link. */
export interface SetupToken {
  token: string
  /** Unix milliseconds. */
  expiresAt: number
}

/** Creates the first owner from a browser; `posthaste setup` does the same in a terminal. */
export interface Setup {
  /** Whether there is no owner yet. */
  isOpen(): Promise<boolean>
  /** Creates a token for a link and stores its hash; null when there is an owner. */
  open(): Promise<SetupToken | null>
  /**
   * Creates the owner and records it in the audit log. An invalid field keeps the link valid. Refuses:
   * `set_up_link_invalid`, `already_set_up`, `invalid_field` (email, password, team).
   */
  use(args: {
    token: string
    email: string
    password: string
    teamName: string
    /** IP address of the request. */
    ip: string | null
  }): Promise<{ user: User; team: Team }>
}

/** Dependencies of the setup. */
export interface SetupDeps {
  storage: Pick<Storage, 'firstTeam' | 'createTicket' | 'takeTicket' | 'appendAudit'>
  clock: Clock
  accounts: {
    createOwner(args: {
      email: string
      password: string
      teamName: string
    }): Promise<{ user: User; team: Team }>
  }
}

/** See `Setup`. */
export function createSetup(deps: SetupDeps): Setup {
  const { storage, clock } = deps
  // Handles one request at a time, because the check for an owner precedes the slow hashing of the password.
  let last: Promise<unknown> = Promise.resolve()
  const isOpen = async () => (await storage.firstTeam({}, clock.now())) === undefined
  return {
    isOpen,

    async open() {
      if (!(await isOpen())) return null
      const token = newToken()
      const createdAt = clock.now()
      const expiresAt = createdAt + SETUP_LIFETIME
      const ticket = {
        tokenHash: hashToken(token),
        kind: KIND,
        userId: null,
        data: {},
        createdAt,
        expiresAt,
      } as const
      await storage.createTicket(ticket, createdAt)
      return { token, expiresAt }
    },

    use(args) {
      const mine = last.then(() => useLink(deps, args))
      last = mine.catch(() => undefined)
      return mine
    },
  }
}

async function useLink(
  { storage, clock, accounts }: SetupDeps,
  { token, ip, ...owner }: Parameters<Setup['use']>[0],
): ReturnType<Setup['use']> {
  if (!isToken(token)) throw refuse('set_up_link_invalid')
  const ticket = await storage.takeTicket({ tokenHash: hashToken(token), kind: KIND }, clock.now())
  if (!ticket) throw refuse('set_up_link_invalid')
  const made = await accounts.createOwner(owner).catch(async (error: unknown) => {
    // A weak password must not use up the link.
    await storage.createTicket(ticket, clock.now())
    throw error
  })
  const { user, team } = made
  await recordAuditEntry(storage, clock, {
    teamId: team.id,
    actor: { kind: 'user', name: user.email, ip },
    action: 'team.set_up',
    target: `team ${team.id}`,
    after: { name: team.name, owner: user.email },
  })
  return made
}
