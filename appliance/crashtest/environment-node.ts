/** The directory and the configuration of a daemon under test. */
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { loadConfig, type Config } from '../config/config.ts'
import { SCRATCH_MARKER } from '../watch/crash-points.ts'
import type { RandomGenerator } from './plan.ts'

/** Configuration and ports of a daemon under test. */
export interface TestNode {
  configFile: string
  config: Config
  url: string
  smtpPort: number
  /** Port of the public MX. */
  mxPort: number
}

/** A node whose configuration can be written again. */
export interface WritableNode extends TestNode {
  /**
   * Writes the configuration.
   * @param apiKeyId the key of the listener for SMTP; null for no listener
   */
  write(apiKeyId: string | null): Promise<void>
}

/** Settings that all nodes have in common. */
interface SharedConfig {
  hostname: string
  /** Address of the DNS server. */
  server: string
  deliveryPort: number
  database: string | undefined
  masterKey: string
}

/** Creates the directory and the configuration of a node. */
export async function addNode(
  folder: string,
  { dice, ...shared }: SharedConfig & { sourceIp: string | undefined; dice: RandomGenerator },
): Promise<WritableNode> {
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeFile(join(dataDir, SCRATCH_MARKER), 'Made by posthaste crashtest. Its mail is not real.\n')
  const [httpPort, smtpPort, mxPort] = [await freePort(dice), await freePort(dice), await freePort(dice)]
  const configFile = join(folder, 'posthaste.toml')
  const write = (apiKeyId: string | null): Promise<void> =>
    writeFile(configFile, toml({ ...shared, dataDir, httpPort, smtpPort, mxPort, apiKeyId }))
  await write(null)
  const loaded = loadConfig({ file: configFile, env: {} })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  const url = `http://127.0.0.1:${httpPort}`
  return { configFile, config: loaded.config, url, smtpPort, mxPort, write }
}

interface NodeConfig extends SharedConfig {
  dataDir: string
  httpPort: number
  smtpPort: number
  mxPort: number
  sourceIp: string | undefined
  apiKeyId: string | null
}

function toml(args: NodeConfig): string {
  const storage =
    args.database === undefined
      ? ''
      : `[storage]
engine = "postgres"
url = ${JSON.stringify(args.database)}
`
  const trusted =
    args.apiKeyId === null
      ? ''
      : `[[smtp.trusted]]
listen = "127.0.0.1:${args.smtpPort}"
networks = ["127.0.0.0/8"]
api_key_id = "${args.apiKeyId}"
`
  const source = args.sourceIp === undefined ? '' : `source_ips = ["${args.sourceIp}"]\n`
  return `hostname = "${args.hostname}"
data_dir = ${JSON.stringify(args.dataDir)}
[secrets]
master_key_file = ${JSON.stringify(args.masterKey)}
[http]
listen = ["127.0.0.1:${args.httpPort}"]
[smtp]
starttls = ["127.0.0.1:${args.mxPort}"]
mx_port = ${args.mxPort}
implicit_tls = []
${trusted}${storage}[dns]
servers = ["${args.server}"]
[delivery]
port = ${args.deliveryPort}
${source}allow_networks = ["127.0.0.0/8"]
[webhooks]
allow_networks = ["127.0.0.0/8"]
[limits]
rate_per_second = 1000000
[logs]
retention_days = 0
`
}

/**
 * Picks a free port of loopback, below those that the kernel assigns to outgoing connections. Otherwise, a client that
 * connects while the daemon is down could occupy the daemon's port.
 */
async function freePort(dice: RandomGenerator): Promise<number> {
  for (;;) {
    const port = dice.between(20_000, 32_000)
    const server = createServer()
    server.listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      // In use, so try another one.
      continue
    }
    const closed = once(server, 'close')
    server.close()
    await closed
    return port
  }
}
