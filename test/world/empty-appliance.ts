import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose, type RunningDaemon } from '../../appliance/compose.ts'
import { loadConfig, type Config } from '../../appliance/config/config.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { storageSettings } from './engine.ts'
import type { World } from './world.ts'

/** An appliance with an empty data directory, as right after installation: no owner and no team. Runs in real time. */
export interface EmptyAppliance {
  readonly appliance: RunningDaemon
  readonly config: Config
  readonly url: string
  close(): Promise<void>
}

/** Starts an empty appliance in a world. */
export async function startEmptyAppliance(world: World): Promise<EmptyAppliance> {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-empty-'))
  const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.sender.test' }, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  const base = loaded.config
  const config: Config = {
    ...base,
    data_dir: dataDir,
    storage: { ...base.storage, ...(await storageSettings(dataDir, {})) },
    http: { ...base.http, listen: ['127.0.0.1:0'] },
    smtp: { ...base.smtp, starttls: [], implicit_tls: [] },
    dns: { ...base.dns, servers: world.dnsServers },
    delivery: { ...base.delivery, port: world.deliveryPort, allow_networks: world.allowNetworks },
  }
  const resolver = { authoritativePort: world.authoritativePort, timeoutMs: 300 }
  const appliance = await compose(config, {
    log: createSilentLogger(),
    resolver,
  })
  return {
    appliance,
    config,
    url: appliance.url,
    async close() {
      await appliance.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
