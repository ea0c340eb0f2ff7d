/** A private S3 server: OpenStack Swift with its S3 interface, from Debian's packages. Small, but all of its parts. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { AwsClient } from 'aws4fetch'

const execute = promisify(execFile)

export interface SwiftServer {
  /** Origin of the S3 interface. */
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Creates an empty bucket; returns its name. */
  createBucket(): Promise<string>
  /** Makes a signed request with another client than Posthaste's. `path` is the bucket, or bucket and key. */
  request(path: string, init?: { method?: string; body?: string }): Promise<Response>
  /** Returns the keys in a bucket, in order. */
  keys(bucket: string): Promise<string[]>
  /** Kills the process that clients talk to; the objects stay. */
  stop(): Promise<void>
  /** Stops the process from answering, without closing its connections. */
  freeze(): void
  thaw(): void
  /** Starts the process again on the same port; resolves when it responds. */
  start(): Promise<void>
  close(): Promise<void>
}

const PARTS = ['account', 'container', 'object'] as const

/** The maps of where accounts, containers and objects are: one disk, one copy. Takes the folder and the first port. */
const RINGS = `
import sys
from swift.common.ring import RingBuilder
for at, name in enumerate(${JSON.stringify(PARTS)}):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': int(sys.argv[2 + at]),
        'replication_ip': '127.0.0.1', 'replication_port': int(sys.argv[2 + at]), 'device': 'd1', 'weight': 1.0, 'meta': ''})
    builder.rebalance(seed=1)
    builder.get_ring().save(sys.argv[1] + '/' + name + '.ring.gz')
`

/** Settings that all four servers have. */
const common = (folder: string, port: number): string => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${join(folder, 'disks')}
mount_check = false
fallocate_reserve = 0
disable_fallocate = true
log_level = ERROR
`

const partSettings = (folder: string, part: string, port: number): string => `${common(folder, port)}
[pipeline:main]
pipeline = ${part}-server
[app:${part}-server]
use = egg:swift#${part}
`

const FILTERS = [
  'catch_errors',
  'gatekeeper',
  'healthcheck',
  'cache',
  'listing_formats',
  's3api',
  'tempauth',
  'copy',
  'slo',
]

const proxySettings = (folder: string, port: number): string => `${common(folder, port)}
[pipeline:main]
pipeline = ${FILTERS.join(' ')} proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
${FILTERS.map((name) => `[filter:${name}]\n${OPTIONS[name] ?? `use = egg:swift#${name}\n`}`).join('\n')}
`

const OPTIONS: Record<string, string> = {
  // The S3 interface requires this filter, but works without a server for it.
  cache: 'use = egg:swift#memcache\nmemcache_servers = 127.0.0.1:1\n',
  s3api: 'use = egg:swift#s3api\nlocation = us-east-1\n',
  tempauth: 'use = egg:swift#tempauth\nuser_posthaste_mail = not-a-secret .admin\n',
}

/** Starts a server with no buckets. It takes a few seconds. */
export async function startSwift(): Promise<SwiftServer> {
  // Not in memory, because the server needs extended attributes.
  const folder = await mkdtemp('/var/tmp/posthaste-swift-')
  await mkdir(join(folder, 'disks', 'd1'), { recursive: true })
  const ports = await freePorts(PARTS.length + 1)
  const [port, ...partPorts] = ports as [number, ...number[]]
  await execute('/usr/bin/python3', ['-c', RINGS, folder, ...partPorts.map(String)])
  for (const [at, part] of PARTS.entries())
    await writeFile(join(folder, `${part}.conf`), partSettings(folder, part, partPorts[at]!))
  await writeFile(join(folder, 'proxy.conf'), proxySettings(folder, port))
  const endpoint = `http://127.0.0.1:${port}`
  const key = { accessKeyId: 'posthaste:mail', secretAccessKey: 'not-a-secret' }
  const client = new AwsClient({ ...key, service: 's3', region: 'us-east-1', retries: 0 })
  const request: SwiftServer['request'] = (path, init) => client.fetch(`${endpoint}/${path}`, init)
  const run = (part: string) => runPart(part, join(folder, `${part}.conf`))
  const parts = PARTS.map(run)
  let proxy = run('proxy')
  const responds = () =>
    until(async () => (await fetch(`${endpoint}/healthcheck`).catch(() => undefined))?.status === 200)
  await responds()
  // Until all parts listen, creating the first bucket fails.
  await until(async () => (await request('first', { method: 'PUT' })).status === 200)
  let buckets = 0
  return {
    endpoint,
    ...key,
    request,
    async createBucket() {
      const name = `mail-${++buckets}`
      const { status } = await request(name, { method: 'PUT' })
      if (status !== 200) throw new Error(`creating the bucket ${name} failed with status ${status}`)
      return name
    },
    async keys(bucket) {
      const text = await (await request(`${bucket}?list-type=2`)).text()
      return [...text.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, found]) => found!).sort()
    },
    stop: () => end(proxy),
    freeze: () => void proxy.kill('SIGSTOP'),
    thaw: () => void proxy.kill('SIGCONT'),
    async start() {
      proxy = run('proxy')
      await responds()
    },
    async close() {
      await Promise.all([proxy, ...parts].map(end))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** How long a start may take, in milliseconds: two seconds, but far more on a busy machine. */
const START_MS = 180_000

/** Waits until a condition is true. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + START_MS
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('the S3 server did not start')
    await pause(50)
  }
}

/** Returns ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

const runPart = (part: string, settings: string): ChildProcess =>
  spawn(`swift-${part}-server`, [settings], { stdio: 'ignore' })

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
