/**
 * Shares certificates among nodes: the database stores the account key, the certificates and the state, encrypted. Each
 * node keeps a copy in its data directory and reads certificates from there.
 */
import { createHash } from 'node:crypto'
import type { CertificatePair } from '../wire/self-signed.ts'
import { generatePrivateKey } from './jose.ts'
import {
  openCertificateStore,
  parseMemory,
  readAccountKey,
  splitPem,
  toPem,
  type AcmeState,
  type CertificateStore,
} from './store.ts'

/** Stores secrets by name. A structural type, so that this folder doesn't import the storage. */
export interface SharedSecrets {
  /** Returns the secret with this name; stores `fresh` if there is none. */
  once(name: string, fresh: string): Promise<string>
  find(name: string): Promise<string | undefined>
  /** Returns secrets whose names begin with the folder and a slash, by the rest of their names. */
  list(folder: string): Promise<Map<string, string>>
  replace(name: string, value: string): Promise<void>
  remove(name: string): Promise<void>
}

const STATE = 'acme/state'
const CHALLENGES = 'acme/challenges'
const certificateName = (id: string): string => `acme/certificates/${id}`
const accountName = (directory: string): string =>
  `acme/accounts/${createHash('sha256').update(directory).digest('hex').slice(0, 16)}`

/** Opens the certificate store of a node that shares certificates with other nodes. */
export function openSharedStore(dataDir: string, shared: SharedSecrets): CertificateStore {
  const own = openCertificateStore(dataDir)
  const stored = async (): Promise<AcmeState | undefined> => {
    const text = await shared.find(STATE)
    return text === undefined ? undefined : parseMemory(text)
  }
  const remember = async (memory: AcmeState): Promise<void> => {
    await shared.replace(STATE, JSON.stringify(memory))
    await own.remember(memory)
  }
  return {
    async accountKey(directory) {
      const fresh = (await readAccountKey(dataDir, directory)) ?? generatePrivateKey()
      return shared.once(accountName(directory), fresh)
    },
    certificate: (id) => own.certificate(id),
    async save(id, pair) {
      await shared.replace(certificateName(id), toPem(pair))
      await own.save(id, pair)
    },
    memory: async () => (await stored()) ?? own.memory(),
    remember,
    async refresh(ids) {
      const memory = await stored()
      if (!memory) return false
      const before = await own.memory()
      let isChanged = false
      for (const id of ids) {
        const pair = await findNewer({ own, shared }, { id, memory, before })
        if (!pair) continue
        await own.save(id, pair)
        isChanged = true
      }
      if (JSON.stringify(before) !== JSON.stringify(memory)) await own.remember(memory)
      return isChanged
    },
    async adopt() {
      // A node that crashed during an order left its challenges.
      for (const key of (await shared.list(CHALLENGES)).keys()) await shared.remove(challengeName(key))
      const [memory, mine] = [await stored(), await own.memory()]
      const known = memory ?? { certificates: {}, pausedUntil: 0, wishDoneAt: 0 }
      const missing = Object.entries(mine.certificates).filter(([id]) => known.certificates[id] === undefined)
      if (missing.length === 0) return
      for (const [id, attempts] of missing) {
        const kept = await own.certificate(id)
        if (kept) await shared.replace(certificateName(id), toPem(kept))
        known.certificates[id] = attempts
      }
      await remember({ ...known, pausedUntil: Math.max(known.pausedUntil, mine.pausedUntil) })
    },
  }
}

/** Returns the certificate in the database if this node has no certificate or an older one. */
async function findNewer(
  { own, shared }: { own: CertificateStore; shared: SharedSecrets },
  { id, memory, before }: { id: string; memory: AcmeState; before: AcmeState },
): Promise<CertificatePair | undefined> {
  const there = memory.certificates[id]?.hadAt ?? 0
  if (there === 0) return undefined
  const isSame = before.certificates[id]?.hadAt === there
  if (isSame && (await own.certificate(id))) return undefined
  const text = await shared.find(certificateName(id))
  return text === undefined ? undefined : splitPem(text)
}

const challengeName = (key: string): string => `${CHALLENGES}/${key}`

/** Key authorizations of challenges, which any node can serve, by the token (http-01) or a key made from the name. */
export interface SharedChallenges {
  publish(key: string, authorization: string): Promise<void>
  withdraw(key: string): Promise<void>
  /** Returns what any node has published. */
  find(key: string): Promise<string | undefined>
}

/** Stores key authorizations in the database. Anyone can ask for them, so only one query runs at a time. */
export function createSharedChallenges(shared: SharedSecrets): SharedChallenges {
  let running = Promise.resolve(new Map<string, string>())
  let next: typeof running | undefined
  const read = (): typeof running => {
    next = undefined
    running = shared.list(CHALLENGES).catch(() => new Map<string, string>())
    return running
  }
  return {
    publish: (key, authorization) => shared.replace(challengeName(key), authorization),
    withdraw: (key) => shared.remove(challengeName(key)),
    async find(key) {
      // A query that has already begun may have missed the key.
      next ??= running.then(read)
      return (await next).get(key)
    },
  }
}
