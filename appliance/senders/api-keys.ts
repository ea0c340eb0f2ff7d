/** Creates, authenticates, renames and revokes API keys. */
import type { Role } from '../mail/roles.ts'
import type { ApiKey, Permission, Storage } from '../storage/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { findFieldValueProblem } from '../mail/headers.ts'
import { refuse } from '../mail/refusals.ts'
import { hashToken, generateApiKey, getTokenPrefix } from './keys.ts'

export interface NewKeyArgs {
  teamId: string
  /** One line of at most 50 characters; may be empty. */
  name: string
  /** Default: `full_access`. Invalid permissions are refused. */
  permission?: string | undefined
  /** Restricts a `sending_access` key to this domain. */
  domainId?: string | null | undefined
}

export interface KeyMethods {
  /**
   * Creates a key. The token is only returned here and never again.
   * Refuses: `invalid_field`, `invalid_access`, `not_found` (domain).
   */
  createKey(args: NewKeyArgs): Promise<{ key: ApiKey; token: string }>
  /**
   * Finds the caller that a token belongs to; undefined if the token is unknown. Records the use of the key a few
   * seconds later.
   */
  authenticate(token: string): Promise<Caller | undefined>
  /** Returns the caller for a listener bound to a key; undefined if the key was revoked. Records the use of the key. */
  callerOf(apiKeyId: string): Promise<Caller | undefined>
  /** Newest first. */
  listKeys(args: { teamId: string }): Promise<ApiKey[]>
  /**
   * Renames a key.
   * Refuses: `invalid_field`, `not_found`.
   */
  renameKey(args: { teamId: string; id: string; name: string }): Promise<void>
  /**
   * Revokes a key immediately, even the one that makes the request.
   * Refuses: `not_found`.
   */
  revokeKey(args: { teamId: string; id: string }): Promise<void>
  /** Writes pending uses of keys. */
  close(): Promise<void>
}

const MAX_NAME = 50
const permissions: readonly string[] = ['full_access', 'sending_access'] satisfies Permission[]
const isPermission = (text: string): text is Permission => permissions.includes(text)

/**
 * How long uses of keys are collected before they are written, in milliseconds. Replaces thousands of writes with one.
 */
const touchDelay = 3000

export function createKeyMethods({ storage, clock }: { storage: Storage; clock: Clock }): KeyMethods {
  const notes = useNotes(storage, clock)
  return {
    async createKey({ teamId, name, permission = 'full_access', domainId = null }) {
      checkName(name)
      if (!isPermission(permission)) throw refuse('invalid_access')
      if (domainId !== null) {
        if (permission !== 'sending_access')
          throw refuse('invalid_field', { field: 'domain_id', expected: 'only with sending_access' })
        if (!(await storage.getDomain({ teamId, id: domainId }, clock.now())))
          throw refuse('not_found', { resource: 'Domain' })
      }
      const now = clock.now()
      const token = generateApiKey()
      const key = {
        id: newId(now),
        teamId,
        name,
        permission,
        domainId,
        prefix: getTokenPrefix(token),
        createdAt: now,
        lastUsedAt: null,
      }
      await storage.createApiKey({ ...key, tokenHash: hashToken(token) }, now)
      return { key, token }
    },

    // Reads the database each time, so that a key revoked by any process stops working immediately.
    async authenticate(token) {
      if (!token.startsWith('re_') || token.length > 200) return undefined
      const key = await storage.findApiKey({ tokenHash: hashToken(token) }, clock.now())
      if (!key) return undefined
      notes.note(key.id, key.prefix === null ? getTokenPrefix(token) : null)
      return { teamId: key.teamId, apiKey: key }
    },

    async callerOf(apiKeyId) {
      const key = await storage.getApiKey({ id: apiKeyId }, clock.now())
      if (!key) return undefined
      notes.note(key.id, null)
      return { teamId: key.teamId, apiKey: key }
    },

    listKeys: (args) => storage.listApiKeys(args, clock.now()),

    async renameKey(args) {
      checkName(args.name)
      if (!(await storage.renameApiKey(args, clock.now()))) throw refuse('not_found', { resource: 'API key' })
    },

    async revokeKey(args) {
      if (!(await storage.deleteApiKey(args, clock.now()))) throw refuse('not_found', { resource: 'API key' })
    },

    close: notes.flush,
  }
}

function checkName(name: string): void {
  if (name.length > MAX_NAME)
    throw refuse('invalid_field', { field: 'name', expected: `at most ${MAX_NAME} characters` })
  const problem = findFieldValueProblem(name)
  if (problem !== undefined) throw refuse('invalid_field', { field: 'name', expected: problem })
}

/** Collects uses of keys and writes them periodically. */
function useNotes(
  storage: Storage,
  clock: Clock,
): { note: (id: string, prefix: string | null) => void; flush: () => Promise<void> } {
  let uses = new Map<string, { at: number; prefix: string | null }>()
  let scheduled: (() => void) | null = null
  let writing = Promise.resolve()
  const write = async () => {
    if (uses.size === 0) return
    const batch = [...uses].map(([id, use]) => ({ id, ...use }))
    uses = new Map()
    await storage.touchApiKeys({ uses: batch }, clock.now())
  }
  const flush = () => {
    scheduled?.()
    scheduled = null
    // "Last used" is for information only: if writing it fails, mail continues, and the next use writes it.
    writing = writing.then(write).catch(() => undefined)
    return writing
  }
  return {
    note(id, prefix) {
      uses.set(id, { at: clock.now(), prefix })
      scheduled ??= clock.after(touchDelay, () => void flush())
    },
    flush,
  }
}

/** Who makes a request: an app with its key, or a signed-in person (no key). */
export interface Caller {
  teamId: string
  apiKey: ApiKey | null
  /** Email address of the person; undefined for an app. */
  user?: string
  /** ID of the person; undefined for an app. */
  userId?: string
  /** The person's role in the team; undefined for an app, which is restricted by its key's permission. */
  role?: Role
}
