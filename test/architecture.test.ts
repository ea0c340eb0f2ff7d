import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ARROWS } from './arrows.ts'

/** The files of a folder that others may import; every other file is private. Mail is vocabulary and api the contract: all of both is public. */
const DOORS: Record<string, string[]> = {
  merge: ['merge.ts'],
  templates: ['templates.ts'],
  advice: ['advice.ts'],
  alerts: ['alerts.ts'],
  automations: ['automations.ts', 'operations.ts'],
  forms: ['forms.ts', 'operations.ts', 'page.ts'],
  archive: ['archive.ts', 'settings.ts'],
  broadcasts: ['broadcasts.ts', 'operations.ts'],
  clock: ['clock.ts', 'throttle.ts'],
  capacity: ['capacity.ts', 'run-jobs.ts'],
  wire: [
    'networks.ts',
    'self-signed.ts',
    'fetch.ts',
    'listeners.ts',
    'milter.ts',
    'certificates.ts',
    'client-hello.ts',
    'der.ts',
    'proxy-protocol.ts',
    'post.ts',
    'verify-certificate.ts',
  ],
  watch: [
    'log.ts',
    'descriptors.ts',
    'duties.ts',
    'heartbeat.ts',
    'crash-points.ts',
    'metrics.ts',
    'observed-storage.ts',
    'notify.ts',
    'health.ts',
    'spare-memory.ts',
    'worker.ts',
  ],
  dns: ['dns.ts', 'reverse.ts'],
  storage: ['storage.ts'],
  config: ['config.ts', 'schema.ts'],
  secrets: ['secrets.ts'],
  document: ['document.ts', 'given.ts'],
  images: ['images.ts'],
  shaping: ['shaping.ts'],
  signing: ['signing.ts'],
  certificates: ['certificates.ts'],
  nameserver: ['nameserver.ts'],
  queue: ['schedule.ts', 'queue.ts'],
  senders: [
    'senders.ts',
    'api-keys.ts',
    'recommended.ts',
    'records.ts',
    'reverse-dns.ts',
    'check.ts',
    'aliases.ts',
  ],
  housekeeping: ['housekeeping.ts'],
  sources: ['sources.ts'],
  insights: ['insights.ts'],
  accounts: ['accounts.ts', 'audit.ts'],
  audience: ['audience.ts'],
  mime: [
    'mime.ts',
    'addresses.ts',
    'encode-header.ts',
    'entity.ts',
    'parser.ts',
    'read.ts',
    'search.ts',
    'read-composed.ts',
    'seven-bit.ts',
    'transfer.ts',
  ],
  tracking: ['tracking.ts', 'rewrite.ts'],
  intake: ['intake.ts', 'notice.ts'],
  verification: ['verification.ts'],
  inbound: ['inbound.ts', 'public-mx.ts'],
  submission: ['submission.ts'],
  smtp: ['smtp.ts'],
  delivery: ['delivery.ts'],
  events: ['events.ts', 'metrics.ts'],
  moving: ['moving.ts'],
  reports: ['reports.ts', 'tls-reports.ts'],
  sandbox: ['sandbox.ts', 'zone.ts'],
  simulation: ['simulation.ts'],
  crashtest: ['crashtest.ts'],
}

/** The object graph: the only files that know which adapters are real. Nothing else lies loose in appliance/. */
const GRAPH = ['main.ts', 'compose.ts']

/** Files behind a folder's door that the object graph alone may reach: the real adapters. */
const ADAPTERS = [
  'dns/resolver.ts',
  'storage/bodies.ts',
  'storage/bucket/bucket.ts',
  'storage/layered-bodies.ts',
  'storage/lookup-cache.ts',
  'storage/disk-guard.ts',
  'storage/postgres/postgres.ts',
  'storage/sqlite/sqlite.ts',
  'http/http.ts',
  'http/challenge-listener.ts',
  'http/metrics-listener.ts',
]

/** Each package enters through the files named here. */
const PACKAGES: Record<string, string[]> = {
  '@fastify/ajv-compiler': ['http/'],
  '@fastify/busboy': ['http/upload.ts'],
  '@fastify/cookie': ['http/'],
  '@fastify/static': ['http/'],
  '@fastify/type-provider-typebox': ['http/'],
  '@node-rs/argon2': ['accounts/'],
  '@simplewebauthn/server': ['accounts/passkeys.ts'],
  otpauth: ['accounts/totp.ts'],
  'age-encryption': ['storage/backup/archive.ts'],
  aws4fetch: ['storage/bucket/requests.ts'],
  'better-sqlite3': ['storage/sqlite/', 'storage/backup/copy.ts'],
  'chrono-node': ['intake/schedule.ts'],
  commander: ['main.ts', 'commands/'],
  'dns-packet': ['dns/', 'nameserver/', 'sandbox/'],
  dns2: ['sandbox/'],
  fastify: ['http/'],
  'html-to-text': ['intake/'],
  htmlparser2: ['tracking/html.ts', 'advice/html.ts', 'inbound/reading/report-xml.ts'],
  'ipaddr.js': ['wire/networks.ts', 'dns/'],
  kysely: ['storage/'],
  'lru-cache': ['archive/contents.ts', 'delivery/', 'dns/', 'secrets/', 'signing/'],
  mailauth: ['verification/', 'sandbox/', 'sources/spf.ts'],
  nodemailer: ['intake/', 'delivery/'],
  'openid-client': ['accounts/'],
  'p-queue': ['delivery/dispatch.ts'],
  pg: ['storage/postgres/client.ts'],
  pino: ['watch/log.ts'],
  'postal-mime': ['sandbox/inbox.ts', 'mime/'],
  'prom-client': ['watch/'],
  'smol-toml': ['config/'],
  'smtp-server': ['sandbox/'],
  tldts: ['advice/', 'senders/', 'shaping/'],
  typebox: ['api/', 'http/', 'config/'],
}

const root = join(import.meta.dirname, '..', 'appliance')

interface Import {
  from: string
  to: string
  typeOnly: boolean
}

/** Every import of every file of the daemon, paths relative to appliance/. */
function imports(): Import[] {
  const found: Import[] = []
  for (const from of globSync('**/*.ts', { cwd: root })) {
    const source = readFileSync(join(root, from), 'utf8')
    const pattern =
      /^(?:import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)|^import\s+'([^']+)'/gms
    for (const match of source.matchAll(pattern)) {
      const to = match[2] ?? match[3] ?? match[4]!
      found.push({
        from,
        to: to.startsWith('.') ? normalize(join(dirname(from), to)) : to,
        typeOnly: match[1] !== undefined,
      })
    }
  }
  return found
}

const all = imports()
const isLocal = ({ to }: Import): boolean => to.endsWith('.ts')
/** The folder of a file; `assembly` is a part of the object graph, as the files at the root are. */
const folderOf = (path: string): string => {
  const folder = path.includes(sep) ? path.split(sep)[0]! : ''
  return folder === 'assembly' ? '' : folder
}
const line = ({ from, to }: Import): string => `${from} imports ${to}`

describe('imports between folders', () => {
  test('finds more than 100 imports', () => {
    expect(all.length).toBeGreaterThan(100)
  })

  test('only the two files of the object graph are at the top level', () => {
    expect(globSync('*.ts', { cwd: root }).sort()).toEqual([...GRAPH].sort())
  })

  test('the import table lists every folder', () => {
    const folders = new Set(globSync('*/', { cwd: root }).map((name) => relative('.', name)))
    expect([...folders].filter((folder) => folder !== 'assembly' && !(folder in ARROWS))).toEqual([])
  })

  test('folders import only from folders that the table allows', () => {
    const wrong = all.filter(isLocal).filter((one) => {
      const [from, to] = [folderOf(one.from), folderOf(one.to)]
      if (from === '' || from === to) return false
      if (to === '') return from !== 'commands'
      return !ARROWS[from]?.includes(to)
    })
    expect(wrong.map(line)).toEqual([])
  })

  test('the import table has no cycles', () => {
    const visit = (folder: string, path: string[]): string[] =>
      path.includes(folder)
        ? [[...path, folder].join(' > ')]
        : (ARROWS[folder] ?? []).flatMap((next) => visit(next, [...path, folder]))
    expect(Object.keys(ARROWS).flatMap((folder) => visit(folder, []))).toEqual([])
  })
})

/** What each file of the daemon and the dashboard imports, types included. */
function importGraph(): Map<string, string[]> {
  const project = join(root, '..')
  const files = globSync(['appliance/**/*.ts', 'ui/src/**/*.{ts,svelte}'], { cwd: project })
  const known = new Set(files)
  const specifier = /\bfrom\s+'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'|^\s*import\s+'(\.[^']+)'/gm
  return new Map(
    files.map((from) => {
      const found = [...readFileSync(join(project, from), 'utf8').matchAll(specifier)]
      const paths = found.map((match) => normalize(join(dirname(from), (match[1] ?? match[2] ?? match[3])!)))
      // A component that shows itself within itself is recursion, not a cycle.
      const targets = paths.flatMap((path) =>
        [path, `${path}.ts`].filter((one) => known.has(one) && one !== from),
      )
      return [from, targets]
    }),
  )
}

/** Cycles of any length: for each file that is in one, the way back to it. */
function cyclesOf(graph: Map<string, string[]>): string[] {
  const done = new Set<string>()
  const found: string[] = []
  const visit = (file: string, path: string[]): void => {
    const start = path.indexOf(file)
    if (start !== -1) found.push([...path.slice(start), file].join(' > '))
    if (start !== -1 || done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return found
}

describe('import cycles', () => {
  test('finds import cycles of any length', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c', 'd']],
      ['c', ['a']],
      ['d', ['d']],
    ])
    expect(cyclesOf(graph)).toEqual(['a > b > c > a', 'd > d'])
  })

  test('the code has no import cycles', () => {
    const graph = importGraph()
    expect([...graph.values()].flat().length).toBeGreaterThan(1000)
    expect(cyclesOf(graph)).toEqual([])
  })
})

describe('public modules and packages', () => {
  test('folders are imported only through their public modules', () => {
    const wrong = all.filter(isLocal).filter((one) => {
      const [from, to] = [folderOf(one.from), folderOf(one.to)]
      if (from === to || to === 'mail' || to === 'api' || to === '') return false
      const file = one.to.slice(to.length + 1)
      if (DOORS[to]?.includes(file)) return false
      return !(from === '' && (ADAPTERS.includes(one.to) || to === 'commands'))
    })
    expect(wrong.map(line)).toEqual([])
  })

  test('packages are imported only where the table allows', () => {
    const name = (to: string): string =>
      to
        .split('/')
        .slice(0, to.startsWith('@') ? 2 : 1)
        .join('/')
    const wrong = all.filter((one) => {
      if (isLocal(one) || one.to.startsWith('node:') || one.to.endsWith('.json')) return false
      return !PACKAGES[name(one.to)]?.some((place) => one.from.startsWith(place))
    })
    expect(wrong.map(line)).toEqual([])
  })

  test('every package in the table is still used', () => {
    const used = new Set(all.map(({ to }) => to))
    expect(
      Object.keys(PACKAGES).filter(
        (name) => ![...used].some((to) => to === name || to.startsWith(`${name}/`)),
      ),
    ).toEqual([])
  })

  test('file and folder names are not vague', () => {
    const vague = /(^|[/\\])(utils?|common|helpers?|manager|misc|index)(\.ts$|[/\\])/
    expect(globSync('**/*.ts', { cwd: root }).filter((file) => vague.test(file))).toEqual([])
  })
})
