/** The first run: whoever holds the link that the daemon printed becomes the owner. */
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import type { Storage, Team, User } from '../storage/storage.ts'
import { recordAct } from './audit.ts'
import { hashToken, isToken, newToken } from './tokens.ts'

/** How long a set-up link is good for, in milliseconds: a day, so that it need not be used at once. */
export const SET_UP_LIFETIME = 24 * 3_600_000

const KIND = 'set_up'

/** A fresh link's secret. */
export interface SetUpToken {
  token: string
  /** Unix milliseconds. */
  expiresAt: number
}

/** The way to the first owner from a browser; `posthaste setup` is the one from a terminal. */
export interface SetUp {
  /** Whether the appliance still waits for its owner. */
  isOpen(): Promise<boolean>
  /** Makes a token for a link; null when there is an owner. Only its hash is stored. */
  open(): Promise<SetUpToken | null>
  /**
   * Makes the owner, and writes it down in the audit log. A refused field leaves the link good for another try.
   * Refuses: `set_up_link_invalid`, `already_set_up`, `invalid_field` (email, password, team).
   */
  use(args: {
    token: string
    email: string
    password: string
    teamName: string
    /** Where the request comes from. */
    ip: string | null
  }): Promise<{ user: User; team: Team }>
}

/** What the set-up stands on. */
export interface SetUpDeps {
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

/** See `SetUp`. */
export function createSetUp(deps: SetUpDeps): SetUp {
  const { storage, clock } = deps
  // One after the other: whether there is an owner is looked at before a password is hashed, which takes its time.
  let last: Promise<unknown> = Promise.resolve()
  const isOpen = async () => (await storage.firstTeam({}, clock.now())) === undefined
  return {
    isOpen,

    async open() {
      if (!(await isOpen())) return null
      const token = newToken()
      const createdAt = clock.now()
      const expiresAt = createdAt + SET_UP_LIFETIME
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
  { storage, clock, accounts }: SetUpDeps,
  { token, ip, ...owner }: Parameters<SetUp['use']>[0],
): ReturnType<SetUp['use']> {
  if (!isToken(token)) throw refuse('set_up_link_invalid')
  const ticket = await storage.takeTicket({ tokenHash: hashToken(token), kind: KIND }, clock.now())
  if (!ticket) throw refuse('set_up_link_invalid')
  const made = await accounts.createOwner(owner).catch(async (error: unknown) => {
    // A password that is too simple must not cost the link.
    await storage.createTicket(ticket, clock.now())
    throw error
  })
  const { user, team } = made
  await recordAct(storage, clock, {
    teamId: team.id,
    actor: { kind: 'user', name: user.email, ip },
    action: 'team.set_up',
    target: `team ${team.id}`,
    after: { name: team.name, owner: user.email },
  })
  return made
}
