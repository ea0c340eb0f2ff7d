import { buildReportAddress } from '../../../appliance/mail/report-address.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeFindings } from '../../../appliance/commands/doctor.ts'
import {
  loadConfig,
  loadBlocklists,
  loadTargets,
  InvalidTable,
  type Config,
} from '../../../appliance/config/config.ts'
import { runChecks, type DoctorDeps } from '../../../appliance/insights/insights.ts'
import type { Finding } from '../../../appliance/mail/finding.ts'
import type { Source } from '../../../appliance/mail/source.ts'
import { createSenders, type Senders } from '../../../appliance/senders/senders.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { createTestClock } from '../../world/clock.ts'
import { makeTeam } from '../../contract/fixtures.ts'
import { list, said, startNames, type Names } from './fixtures.ts'
import { writeFileSync } from 'node:fs'

const HELO = 'mail.acme.org'
const folder = mkdtempSync(join(tmpdir(), 'posthaste-doctor-'))
const clock = createTestClock()
let names: Names
let storage: Storage
let senders: Senders
let deps: DoctorDeps
let teamId: string

beforeAll(async () => {
  names = await startNames({
    [HELO]: { A: '192.0.2.1' },
    '1.2.0.192.in-addr.arpa': { PTR: HELO },
    '2.0.0.127.bl.test': { A: '127.0.0.2' },
    'signed.test': { A: '192.0.2.5', authentic: true },
    'broken.test': 'SERVFAIL',
  })
  storage = await openSqlite({ dataDir: folder })
  teamId = (await makeTeam(storage)).team.id
  const host = { hostname: HELO, sourceIps: [] }
  const resolver = names.fresh()
  const keygen = () => Promise.resolve({ privateKey: new Uint8Array([1]), publicKey: 'AQ==' })
  senders = createSenders({ storage, resolver, clock, config: host, keygen })
  await senders.addDomain({ teamId, name: 'shop.example' })
  deps = {
    storage,
    resolver,
    freshResolver: names.fresh,
    clock,
    host,
    config: config(),
    blocklists: [list, { ...list, zone: 'dbl.test', name: 'Domain list', lists: 'domains' }],
    targets: {
      port25: ['gone.test'],
      clock: ['https://127.0.0.1:9'],
      resolver: { cached: HELO, signed: 'signed.test', broken: 'broken.test' },
    },
    machine: { local: () => ['192.0.2.1'], isPublic: () => true, dialMs: 200, pauseMs: 0 },
  }
})
afterAll(async () => {
  await senders.close()
  await storage.close()
  await names.close()
  rmSync(folder, { recursive: true, force: true })
})

function config(): Config {
  const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: HELO }, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  const { smtp, http } = loaded.config
  return {
    ...loaded.config,
    data_dir: folder,
    http: { ...http, listen: ['127.0.0.1:9'] },
    smtp: { ...smtp, starttls: [], implicit_tls: [] },
  }
}
const brief = (findings: Finding[]) => findings.map(({ id, status }) => `${status} ${id}`)

test('doctor runs all checks and sorts failures first', async () => {
  const findings = await runChecks(deps)
  // The speed of disk and resolver depends on the machine.
  const steady = findings.filter(({ id }) => id !== 'disk' && id !== 'resolver:caching')
  expect(brief(steady)).toEqual([
    'failed domain:shop.example',
    `warning certificate:${join(folder, 'tls/self-signed.json')}`,
    'warning return-path',
    'skipped port25:auto',
    'skipped ipv6:auto',
    'skipped clock',
    'skipped listeners',
    'skipped disk-forecast',
    'ok ptr:192.0.2.1',
    'ok blocklists:192.0.2.1',
    `ok helo:${HELO}`,
    `ok spf-helo:${HELO}`,
    `ok address:${HELO}`,
    'ok blocklists:acme.org',
    'ok resolver:answers',
    'ok resolver:dnssec',
    'ok blocklists:shop.example',
  ])
  expect(findings.map(({ id }) => id)).toContain('disk')
})

test('doctor checks SPF of the EHLO name, and says what to publish', async () => {
  const look = async (texts: string[] | undefined) => {
    names.dns.set(HELO, { A: '192.0.2.1', ...(texts && { TXT: texts }) })
    const findings = await runChecks({ ...deps, resolver: names.fresh() })
    return said(findings.find(({ id }) => id === `spf-helo:${HELO}`)!)
  }
  const publish = `Publish a TXT record at ${HELO}: v=spf1 a ip4:192.0.2.1 -all`
  expect(await look(undefined)).toEqual([
    'ok',
    `${HELO} has no SPF record. Publishing one is recommended.`,
    publish,
  ])
  expect(await look(['v=spf1 a -all'])).toEqual(['ok', `${HELO} allows mail from this machine.`, null])
  expect(await look(['v=spf1 ip4:192.0.2.7 -all'])).toEqual([
    'warning',
    `SPF of ${HELO} does not allow mail from 192.0.2.1 (fail).`,
    publish,
  ])
})

test('doctor checks domains of all teams only on request, and names the other teams', async () => {
  const { team } = await makeTeam(storage, clock.now() + 1000)
  await senders.addDomain({ teamId: team.id, name: 'theirs.example' })
  const about = (findings: Finding[]) => findings.filter(({ id }) => id.includes('domain:'))
  expect(about(await runChecks(deps)).map(({ title }) => title)).toEqual(['Records of shop.example'])
  expect(JSON.stringify(await runChecks(deps))).not.toMatch(/theirs|other-team/)
  const [own, theirs, ...others] = about(await runChecks({ ...deps, everyTeam: true }))
  expect(own!.title).toBe('Records of shop.example')
  expect(theirs).toMatchObject({
    id: `other-team:${team.id}:domain:theirs.example`,
    title: `Records of theirs.example (team "${team.name}")`,
    advice: `To see the records to publish, run: posthaste domain show theirs.example --team ${team.id}`,
  })
  expect(others).toEqual([])
})

test('doctor checks a single domain on request', async () => {
  const [domain] = await storage.listDomains({ teamId }, clock.now())
  expect(brief(await runChecks(deps, domain))).toEqual([
    'failed domain:shop.example',
    'ok blocklists:shop.example',
  ])
  expect((await runChecks(deps, domain))[0]!.found).toContain('Nothing is published at send.shop.example.')
  const records = await senders.expectedRecords(domain!)
  for (const fqdn of new Set(records.map((record) => record.fqdn))) {
    const here = records.filter((record) => record.fqdn === fqdn)
    names.dns.set(fqdn, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: here.filter(({ type }) => type === 'MX').map(({ value }) => ({ preference: 10, exchange: value })),
    })
  }
  const { advice, ...plain } = (await runChecks({ ...deps, resolver: names.fresh() }, domain))[0]!
  expect(plain).toMatchObject({ status: 'ok', found: 'All required records are published.' })
  expect(advice).toBe(null)
  names.dns.set('_dmarc.shop.example', { TXT: ['v=DMARC1; p=none;'] })
  const fresh = { ...deps, resolver: names.fresh() }
  const [sound, ...rest] = await runChecks(fresh, domain)
  expect(sound).toMatchObject({
    id: 'domain:shop.example',
    status: 'ok',
    found:
      'All required records are published. The DMARC policy is p=none without rua, so receivers neither enforce it nor send reports.',
    advice: `Add rua=mailto:${buildReportAddress(domain!)} to the record at _dmarc.shop.example: receivers then send daily reports about mail that claims to be from shop.example.`,
  })
  expect(brief(rest)).toEqual(['ok blocklists:shop.example'])
  for (const policy of ['v=DMARC1; p=none; rua=mailto:d@shop.example', 'v=DMARC1; p=quarantine']) {
    names.dns.set('_dmarc.shop.example', { TXT: [policy] })
    const [finding] = await runChecks({ ...deps, resolver: names.fresh() }, domain)
    expect(finding).toMatchObject({ found: 'All required records are published.', advice: null })
  }
  const receiving = { ...domain!, receiving: true }
  const exchange = (await senders.expectedRecords(receiving)).find(({ key }) => key === 'Receiving MX')!.value
  names.dns.set('shop.example', { MX: [{ preference: 10, exchange }] })
  const tls = async () => (await runChecks({ ...deps, resolver: names.fresh() }, receiving))[0]!
  expect(await tls()).toMatchObject({
    status: 'ok',
    found: expect.stringContaining('TLS-RPT (TXT _smtp._tls.shop.example): Nothing is published') as string,
    advice: expect.stringContaining(`rua=mailto:${buildReportAddress(domain!)} at _smtp._tls`) as string,
  })
  names.dns.set('_smtp._tls.shop.example', { TXT: ['v=TLSRPTv1;'] })
  expect((await tls()).status).toBe('warning')
  names.dns.set('_smtp._tls.shop.example', { TXT: ['v=TLSRPTv1; rua=mailto:tls@elsewhere.test'] })
  expect(await tls()).toMatchObject({ status: 'ok', advice: null })
  names.dns.set('_dmarc.shop.example', undefined)
  expect(brief(await runChecks({ ...deps, resolver: names.fresh() }, domain))[0]).toBe(
    'warning domain:shop.example',
  )
  names.dns.set('send.shop.example', 'SERVFAIL')
  expect(brief(await runChecks({ ...deps, resolver: names.fresh() }, domain))[0]).toBe(
    'skipped domain:shop.example',
  )
})

test('doctor runs the other checks when the storage does not open, and reports the reason', async () => {
  const findings = await runChecks({ ...deps, storage: { unavailable: 'The database is damaged.' } })
  expect(findings.find(({ id }) => id === 'storage')).toEqual({
    id: 'storage',
    title: 'Storage',
    status: 'failed',
    found: 'The database is damaged. Domains and sending IPs cannot be checked without it.',
    advice:
      'The server cannot accept mail until the storage opens. Check the disk and the owner of data_dir.',
  })
  expect(brief(findings)).toContain('ok ptr:192.0.2.1')
})

test('doctor reports suspended sending IPs', async () => {
  const source: Source = {
    ...({
      ip: '192.0.2.1',
      pool: 'default',
      hostname: null,
      state: 'suspended',
      stateReason: 'It is listed.',
    } as const),
    ...({
      suspendedBy: 'check',
      warmUpSince: null,
      origin: 'operator',
      health: null,
      checkedAt: null,
    } as const),
  }
  await storage.addSource({ source, nodeId: 'here' }, clock.now())
  const found = (await runChecks(deps)).find(({ id }) => id === 'suspended:192.0.2.1')
  expect(found).toMatchObject({
    status: 'warning',
    found: 'It is suspended, so no mail is sent from it: It is listed.',
    advice: 'It resumes automatically when the cause is fixed.',
  })
})

test('findings are formatted as text that fits one screen', () => {
  const findings: Finding[] = [
    {
      id: 'port25:auto',
      title: 'Outbound port 25 from this machine',
      status: 'failed',
      found: 'No mail exchanger can be reached: mx.example.net does not respond within 8 seconds.',
      advice: 'No mail can leave. Ask the provider to open outgoing TCP port 25.',
    },
    {
      id: 'disk',
      title: 'Disk of /data',
      status: 'warning',
      found: 'Nearly full.',
      advice: 'Make room.',
    },
    { id: 'clock', title: 'Clock', status: 'skipped', found: 'Nobody could be asked.', advice: null },
    { id: 'helo', title: 'EHLO name', status: 'ok', found: 'It resolves.', advice: null },
    { id: 'dns', title: 'DNSSEC', status: 'ok', found: 'Not used.', advice: 'Turn it on.' },
  ]
  expect(describeFindings(findings).join('\n')).toBe(`FAILED   Outbound port 25 from this machine
         No mail exchanger can be reached: mx.example.net does not respond
         within 8 seconds.
         -> No mail can leave. Ask the provider to open outgoing TCP port 25.
WARNING  Disk of /data
         Nearly full.
         -> Make room.
skipped  Clock
         Nobody could be asked.
ok       EHLO name: It resolves.
ok       DNSSEC
         Not used.
         -> Turn it on.

1 failed, 1 warning, 1 skipped, 2 ok`)
})

test('loads the built-in check data, and rejects invalid data with every error', () => {
  expect(loadBlocklists().map(({ zone, suspend }) => `${zone} ${suspend}`)).toEqual([
    'zen.spamhaus.org true',
    'bl.spamcop.net false',
    'b.barracudacentral.org false',
    'psbl.surriel.com false',
    'dbl.spamhaus.org false',
    'multi.surbl.org false',
  ])
  expect(loadTargets().resolver.broken).toBe('dnssec-failed.org')
  const file = join(folder, 'lists.toml')
  writeFileSync(
    file,
    '[[list]]\nzone = "bl.test"\nlists = "all"\nsuspend = 1\nmore = 2\n[list.listed]\n"10.0.0.1" = "x"\n',
  )
  let refused: unknown
  try {
    loadBlocklists(file)
  } catch (error) {
    refused = error
  }
  expect(refused).toBeInstanceOf(InvalidTable)
  const messages = (refused as Error).message
    .split('\n')
    .map((line) => line.replace(/^.*?lists\.toml(:\d+)?: /, ''))
  expect(messages.sort()).toEqual([
    'The blocklists could not be loaded:',
    'list[0].delist is missing; expected a URL.',
    'list[0].listed."10.0.0.1": expected an address in 127.0.0.0/8 or "*", and a string.',
    'list[0].lists: expected "addresses" or "domains".',
    'list[0].name is missing; expected a name.',
    'list[0].suspend: expected true or false.',
    'unknown key list[0].more.',
  ])
  writeFileSync(file, 'port25 = ["a b"]\nclock = ["http://plain.test"]\n')
  expect(() => loadTargets(file)).toThrow('expected a list of origins such as https://www.example.com')
})
