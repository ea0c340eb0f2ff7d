import { gunzipSync } from 'node:zlib'
import PostalMime from 'postal-mime'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TlsReport } from '../../appliance/reports/tls-report.ts'
import { computeStartDelay } from '../../appliance/reports/tls-reports.ts'
import { parseNetworks } from '../../appliance/wire/networks.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { tlsFile } from '../world/tls.ts'
import { createWorld, type World } from '../world/world.ts'
import { startPolicyHost } from '../unit/delivery/policy/harness.ts'

/** A day's TLS results are reported the following night, by mail and by HTTPS, to the domains that ask for them. */
let world: World
let appliance: TestAppliance
let host: Awaited<ReturnType<typeof startPolicyHost>>

const DAY = 86_400_000

beforeAll(async () => {
  host = await startPolicyHost()
  host.state.answer = { status: 201, body: 'thanks' }
  const uris = `mailto:rua@reports.test,https://r.trusted.test:${host.port}/in`
  world = await createWorld({
    domains: {
      'wants.test': { mx: [{ preference: 10, host: 'mx.wants.test', exchanger: { tls: 'self-signed' } }] },
      'plain.test': { mx: [{ preference: 10, host: 'mx.plain.test' }] },
      'silent.test': { mx: [{ preference: 10, host: 'mx.silent.test' }] },
      // TLS is broken here. Reports arrive nevertheless, and their own delivery isn't counted.
      'reports.test': { mx: [{ preference: 10, host: 'mx.reports.test', exchanger: {} }] },
    },
    names: {
      '_smtp._tls.wants.test': { TXT: `v=TLSRPTv1; rua=${uris}` },
      '_smtp._tls.plain.test': { TXT: 'v=TLSRPTv1; rua=mailto:rua@reports.test' },
      '_smtp._tls.reports.test': { TXT: 'v=TLSRPTv1; rua=mailto:rua@reports.test' },
      'r.trusted.test': { A: '127.0.0.1' },
    },
  })
  appliance = await startAppliance({
    world,
    config: { tls_reports: { from: 'tls@sender.test', contact: 'postmaster@sender.test' } },
    policyHosts: { ca: tlsFile('ca.pem'), allowNetworks: parseNetworks(['127.0.0.0/8']) },
  })
})
afterAll(async () => {
  await appliance.close()
  await world.close()
  await host.close()
})

/**
 * Moves time to when the reports of `day` are sent. The last steps are small, because longer ones would exceed SMTP
 * timeouts.
 */
async function night(day: string): Promise<void> {
  const midnight = Date.parse(`${day}T00:00:00Z`) + DAY
  const next = new Date(midnight).toISOString().slice(0, 10)
  const { storage } = appliance.appliance
  const told = async () => (await storage.listTlsReports({ since: day, limit: 10 }, 0)).length
  await world.clock.set(midnight + computeStartDelay('mail.sender.test', next))
  for (let steps = 0; steps < 95 && (await told()) === 0; steps++) {
    await world.clock.advance(10_000)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await world.mailboxOf('mx.reports.test').waitFor(2)
  await expect.poll(told).toBe(3)
}

test('sends complete, signed reports on a day of TLS sessions, once', async () => {
  const day = new Date(world.clock.now()).toISOString().slice(0, 10)
  for (const domain of ['wants.test', 'plain.test', 'silent.test'])
    await appliance.until(await appliance.send({ to: `ada@${domain}` }), isFinal)
  const { body } = await appliance.call<{ data: object[] }>('GET', '/tls/results')
  expect(body.data).toMatchObject([
    { day, domain: 'plain.test', policy: 'no-policy-found', result: 'starttls-not-supported', sessions: 1 },
    { day, domain: 'silent.test', result: 'starttls-not-supported', host: 'mx.silent.test' },
    { day, domain: 'wants.test', result: 'success', host: null },
  ])

  await night(day)
  const mails = world.mailboxOf('mx.reports.test').map(({ raw }) => raw)
  const parsed = await Promise.all(mails.map((raw) => PostalMime.parse(raw)))
  const domainOf = ({ headers }: (typeof parsed)[0]): string =>
    headers.find(({ key }) => key === 'tls-report-domain')!.value
  expect(parsed.map(domainOf).sort()).toEqual(['plain.test', 'wants.test'])
  const reports = parsed.map(
    ({ attachments }) =>
      JSON.parse(gunzipSync(attachments[0]!.content as ArrayBuffer).toString()) as TlsReport,
  )
  const plain = reports[parsed.findIndex((one) => domainOf(one) === 'plain.test')]!
  expect(plain).toMatchObject({
    'organization-name': 'mail.sender.test',
    'date-range': { 'start-datetime': `${day}T00:00:00Z`, 'end-datetime': `${day}T23:59:59Z` },
    'contact-info': 'postmaster@sender.test',
    policies: [
      {
        policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'plain.test' },
        summary: { 'total-successful-session-count': 0, 'total-failure-session-count': 1 },
        'failure-details': [
          {
            'result-type': 'starttls-not-supported',
            'receiving-mx-hostname': 'mx.plain.test',
            'failed-session-count': 1,
          },
        ],
      },
    ],
  })
  expect(host.state.asked).toEqual(['POST r.trusted.test /in'])
  const posted = JSON.parse(gunzipSync(host.state.posted[0]!).toString()) as TlsReport
  expect(posted['report-id']).toBe(`${day}.wants.test@mail.sender.test`)

  const { storage } = appliance.appliance
  const resolver = async (name: string): Promise<string[][]> => {
    const { senders } = appliance.appliance
    const domain = (await senders.findDomain({ teamId: appliance.teamId, name: 'sender.test' }))!
    const records = await senders.expectedRecords(domain)
    return records.filter(({ fqdn, type }) => fqdn === name && type === 'TXT').map(({ value }) => [value])
  }
  const { results } = await dkimVerify(mails[0]!, { resolver, curTime: new Date(world.clock.now()) })
  expect(results[0]).toMatchObject({ signingDomain: 'sender.test', status: { result: 'pass' } })

  // Another day passes: nothing is sent twice, and delivering the reports wasn't counted.
  await world.clock.advance(DAY)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(world.mailboxOf('mx.reports.test').length).toBe(2)
  const states = await storage.listTlsReports({ since: day, limit: 10 }, world.clock.now())
  expect(states.map(({ domain, state }) => [domain, state])).toEqual([
    ['plain.test', 'sent'],
    ['silent.test', 'none'],
    ['wants.test', 'sent'],
  ])
})

test('GET /tls/policies returns the TLS policy of a domain, and rejects invalid names', async () => {
  const { status, body } = await appliance.call('GET', '/tls/policies/wants.test')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    object: 'tls_policy',
    domain: 'wants.test',
    validating: false,
    mta_sts: null,
    hosts: [{ host: 'mx.wants.test', preference: 10, tls: 'opportunistic', why: null, tlsa: [] }],
    reports_to: [`mailto:rua@reports.test`, expect.stringContaining('https://r.trusted.test')],
  })
  expect((await appliance.call('GET', '/tls/policies/localhost')).status).toBe(422)
})
