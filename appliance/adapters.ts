/** The real adapters behind the ports, as the configuration asks for them. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from './clock/clock.ts'
import type { Config } from './config/config.ts'
import type { Resolver } from './dns/dns.ts'
import { createResolver, type ResolverOptions } from './dns/resolver.ts'
import { openSqlite } from './storage/sqlite/sqlite.ts'
import type { Storage } from './storage/storage.ts'
import { isForbiddenTarget, parseNetworks, PRIVATE_NETWORKS } from './wire/networks.ts'

/**
 * Opens the storage; it is made, or brought up to date, when it has to be. Rejects with a sentence for people.
 * @param onLost called when the engine died: nothing can be stored or read any more
 */
export function openStorage(config: Config, onLost?: (error: Error) => void): Promise<Storage> {
  return openSqlite({ dataDir: config.data_dir, ...(onLost ? { onLost } : {}) })
}

/** Number of the newest schema that this program knows. */
export async function schemaVersion(): Promise<number> {
  const files = await readdir(join(import.meta.dirname, 'storage', 'migrations', 'sqlite'))
  return Math.max(...files.map((name) => Number.parseInt(name, 10)).filter(Number.isInteger))
}

/** Makes the resolver; `change` overrides, for the sandbox and tests. */
export function openResolver(config: Config, clock: Clock, change: Partial<ResolverOptions> = {}): Resolver {
  // The owner of a zone chooses where its NS records point to.
  const allowed = [...parseNetworks(config.delivery.allow_networks), ...PRIVATE_NETWORKS]
  const isForbidden = (ip: string): boolean => isForbiddenTarget(ip, allowed)
  return createResolver({ servers: config.dns.servers, clock, isForbidden, ...change })
}
