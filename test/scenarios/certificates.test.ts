import { once } from 'node:events'
import { request } from 'node:https'
import type { IncomingHttpHeaders } from 'node:http'
import { connect as dial } from 'node:net'
import { connect } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { freeAddress } from '../world/addresses.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startAuthority } from '../world/authority.ts'
import { createWorld } from '../world/world.ts'

const closing: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close()
})

async function start(http: Partial<Config['http']>, more: Partial<Config> = {}): Promise<TestAppliance> {
  const world = await createWorld({ domains: {} })
  closing.push(world)
  const config = { ...more, http: { listen: ['127.0.0.1:0'], ...http } as Config['http'] }
  const appliance = await startAppliance({ world, config })
  closing.push(appliance)
  return appliance
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** Makes an HTTPS request without verifying the server. */
function ask(
  url: string,
  { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: object; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      { method, headers: { ...headers }, rejectUnauthorized: false, agent: false },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
      },
    )
    asked.on('error', reject).end(body)
  })
}

/**
 * Waits until a listener presents a certificate other than the host's own. A new certificate is stored before it is
 * presented.
 */
async function issuedByAuthority(host: string, port: number): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const socket = connect({ host, port, servername: 'mail.sender.test', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { issuer } = socket.getPeerCertificate()
    socket.destroy()
    if (issuer.CN !== 'mail.sender.test') return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const json = { 'content-type': 'application/json' }

describe('HTTPS', () => {
  test('HTTPS accepts an email of one megabyte, without HSTS by default', async () => {
    const { appliance, apiKey } = await start({ tls_listen: ['127.0.0.1:0'] })
    const url = appliance.http[1]!
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const email = { from: 'a@sender.test', to: 'b@receiver.test', subject: 'S', text: 'x'.repeat(1e6) }
    const answer = await ask(`${url}/emails`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${apiKey}` },
      body: JSON.stringify(email),
    })
    expect(answer.status).toBe(200)
    expect(answer.headers['strict-transport-security']).toBe(undefined)
  })

  test('sets secure cookies and the configured HSTS max-age, only over HTTPS', async () => {
    const { appliance, url, ownerEmail, ownerPassword } = await start({
      tls_listen: ['127.0.0.1:0'],
      hsts_days: 2,
    })
    const body = JSON.stringify({ email: ownerEmail, password: ownerPassword })
    const signIn = { method: 'POST', headers: json, body }
    const secure = await ask(`${appliance.http[1]!}/session`, signIn)
    expect(secure.status).toBe(200)
    expect(secure.headers['set-cookie']!.join()).toMatch(
      /posthaste_session=[^;]+;.*HttpOnly; Secure; SameSite/,
    )
    expect(secure.headers['strict-transport-security']).toBe('max-age=172800')
    const plain = await fetch(`${url}/session`, signIn)
    expect(plain.headers.get('set-cookie')).not.toContain('Secure')
    expect(plain.headers.get('strict-transport-security')).toBe(null)
  })

  test('the HTTPS port rejects plain HTTP, and a stop closes idle connections', async () => {
    const stage = await start({ tls_listen: ['127.0.0.1:0'] })
    const { port, hostname } = new URL(stage.appliance.http[1]!)
    await expect(fetch(`http://${hostname}:${port}/healthz`)).rejects.toThrow()
    const silent = dial({ host: hostname, port: Number(port) })
    await once(silent, 'connect')
    const closed = once(silent, 'close')
    closing.pop()
    await stage.close()
    await closed
  })
})

describe('a separate admin listener', () => {
  test('a separate admin listener serves the dashboard and sessions, and the API listener does not', async () => {
    const { appliance, url, apiKey, ownerEmail, ownerPassword } = await start({
      admin_listen: ['127.0.0.1:0'],
    })
    const admin = appliance.http[1]!
    const signIn = (origin: string) =>
      fetch(`${origin}/session`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify({ email: ownerEmail, password: ownerPassword }),
      })
    const refused = await signIn(url)
    expect(refused.status).toBe(404)
    expect(((await refused.json()) as { name: string }).name).toBe('not_found')
    const taken = await signIn(admin)
    expect(taken.status).toBe(200)
    const cookie = taken.headers
      .getSetCookie()
      .find((one) => one.startsWith('posthaste_session='))!
      .split(';')[0]!
    const status = async (origin: string, path: string, headers: Record<string, string>) =>
      (await fetch(`${origin}${path}`, { headers, redirect: 'manual' })).status
    expect(await status(admin, '/session', { cookie })).toBe(200)
    expect(await status(admin, '/emails', { cookie })).toBe(200)
    // A session of the other host is not valid here.
    expect(await status(url, '/session', { cookie })).toBe(404)
    expect(await status(url, '/emails', { cookie })).toBe(401)
    expect(await status(url, '/dashboard/', {})).toBe(404)
    expect(await status(url, '/', { accept: 'text/html' })).toBe(404)
    expect(await status(url, '/healthz', {})).toBe(200)
    expect(await status(url, '/openapi.json', {})).toBe(200)
    expect(await status(url, '/emails', { authorization: `Bearer ${apiKey}` })).toBe(200)
    expect(await status(admin, '/emails', { authorization: `Bearer ${apiKey}` })).toBe(200)

    const invited = await fetch(`${admin}/invitations`, {
      method: 'POST',
      headers: { ...json, cookie, 'x-requested-with': 'dashboard', origin: admin },
      body: JSON.stringify({ email: 'ada@customer.test', role: 'viewer' }),
    })
    const { link } = (await invited.json()) as { link: string }
    expect(link.startsWith(`${admin}/dashboard/invitation#`)).toBe(true)
  })

  test('a separate admin listener serves all routes, and the API listener only those without sign-in', async () => {
    const { appliance, url, apiKey } = await start({ admin_listen: ['127.0.0.1:0'] })
    const admin = appliance.http[1]!
    // Known IP addresses may make as many requests without a key as this test does.
    const known = await fetch(`${url}/emails`, { headers: { authorization: `Bearer ${apiKey}` } })
    expect(known.status).toBe(200)
    const forPeople =
      /^\/(session|account|setup|team|teams|members|invitations)(\/|$)|^\/emails\/\{id\}\/preview$/
    const open: Record<string, number> = {
      '/healthz': 200,
      '/readyz': 200,
      '/openapi.json': 200,
      '/downloads/attachments/{token}': 404,
      '/downloads/received/{token}': 404,
      '/l/*': 404,
      '/o/*': 404,
      '/i/{name}': 404,
    }
    const answer = async (origin: string, method: string, path: string) => {
      const response = await fetch(`${origin}${path}`, { method, redirect: 'manual' })
      const { status } = response
      const words = await response.text()
      return status === 404 && words.includes('The requested endpoint does not exist') ? 'unknown' : status
    }
    const description = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object }
    const routes = Object.entries(description.paths).flatMap(([path, operations]) =>
      Object.keys(operations as object).map((method) => ({ path, method: method.toUpperCase() })),
    )
    const people = routes.filter(({ path }) => forPeople.test(path))
    expect([people.length, routes.length - people.length].map((count) => count > 40)).toEqual([true, true])
    for (const { path, method } of routes) {
      const asked = [method, path.replace(/\{[^}]+\}/g, 'x')] as const
      const [apps, own] = [await answer(url, ...asked), await answer(admin, ...asked)]
      if (forPeople.test(path)) {
        expect([...asked, apps]).toEqual([...asked, 'unknown'])
        expect([...asked, own]).not.toEqual([...asked, 'unknown'])
      } else expect([...asked, apps, own]).toEqual([...asked, open[path] ?? 401, open[path] ?? 401])
    }
    for (const path of ['/dashboard/', '/dashboard/emails', '/dashboard/sign-in'])
      expect([path, await answer(url, 'GET', path), await answer(admin, 'GET', path)]).toEqual([
        path,
        'unknown',
        200,
      ])
  })
})

test(
  'HTTPS and SMTP present the same ACME certificate, and the API lists it',
  { timeout: 90_000 },
  async () => {
    const authority = await startAuthority()
    closing.push(authority)
    const { address, caFile } = authority
    const world = await createWorld({ domains: {} })
    closing.push(world)
    const host = freeAddress()
    const appliance = await startAppliance({
      world,
      config: {
        http: { listen: [`${address}:5080`], tls_listen: [`${host}:0`] } as unknown as Config['http'],
        smtp: { implicit_tls: [`${host}:0`] } as Config['smtp'],
        acme: {
          agree_terms: true,
          directory: authority.directory,
          ca: caFile,
          challenge: 'http-01',
          names: [],
          tracking_hosts: true,
          http_listen: [],
          hook_seconds: 60,
        },
      },
    })
    closing.push(appliance)
    const listed = async () => {
      const { body } = await appliance.call<{ data: Record<string, unknown>[] }>('GET', '/certificates')
      return body.data
    }
    let found = await listed()
    for (let tries = 0; tries < 300 && found[0]!.source !== 'authority'; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      found = await listed()
    }
    expect(found).toEqual([
      expect.objectContaining({
        object: 'certificate',
        name: 'mail.sender.test',
        source: 'authority',
        failures: 0,
        error: null,
        names: ['mail.sender.test'],
        issuer: expect.stringMatching(/^Pebble Intermediate/) as string,
      }),
    ])
    const ca = await authority.root()
    const doors = [
      new URL(appliance.appliance.http[1]!).port,
      appliance.appliance.smtp.implicitTls[0]!.split(':')[1]!,
    ]
    for (const port of doors) {
      await issuedByAuthority(host, Number(port))
      const socket = connect({ host, port: Number(port), servername: 'mail.sender.test', ca })
      await once(socket, 'secureConnect')
      // Clients don't trust the test server's root by default, so the chain is built and verified here.
      expect(socket.authorized).toBe(true)
      expect(socket.getPeerX509Certificate()!.checkHost('mail.sender.test')).toBe('mail.sender.test')
      socket.destroy()
    }
  },
)
