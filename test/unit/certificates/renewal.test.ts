import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAuthority, type Authority } from '../../world/authority.ts'
import { createCertificates } from '../../world/certificates.ts'
import { HOSTNAME, startHost, until, type Host } from './stage.ts'

/** Tests renewal information (RFC 9773). Debian's Pebble doesn't support it, so a server in front of Pebble adds it. */

const DAY = 24 * 3_600_000

let authority: Authority
let opinion: Awaited<ReturnType<typeof startOpinion>>
beforeAll(async () => {
  authority = await startAuthority()
  opinion = await startOpinion()
})
afterAll(async () => {
  await opinion.close()
  await authority.close()
})

/** Starts a proxy that adds `renewalInfo` to Pebble's directory and serves it. */
async function startOpinion() {
  const made = await createCertificates()
  const own = await made.make({ name: 'Test authority of the front', ca: true })
  const { cert, key } = await made.make({
    name: 'front.test',
    hosts: ['127.0.0.1'],
    by: own,
    use: 'serverAuth',
  })
  await made.close()
  const asked: string[] = []
  const window = { start: 0, end: 0 }
  const server = createServer({ cert, key }, (request, response) => {
    const { url = '' } = request
    const answer = async (): Promise<object> => {
      if (url === '/dir') return { ...(await directory()), renewalInfo: `${origin}/renewal/` }
      asked.push(url)
      const [start, end] = [window.start, window.end].map((at) => new Date(at).toISOString())
      return { suggestedWindow: { start, end } }
    }
    void answer().then((body) => response.setHeader('retry-after', '60').end(JSON.stringify(body)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    asked,
    window,
    host: { ...authority, directory: `${origin}/dir`, ca: authority.ca + own.cert },
    close: async () => {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}

async function directory(): Promise<object> {
  const [response] = (await once(get(authority.directory, { ca: authority.ca }), 'response')) as [
    NodeJS.ReadableStream,
  ]
  return JSON.parse(await text(response)) as object
}

async function running(dataDir: string, work: (host: Host) => Promise<void>): Promise<void> {
  const host = await startHost(opinion.host, { dataDir })
  try {
    await work(host)
  } finally {
    await host.close()
  }
}

const had = (host: Host) =>
  until(
    () => host.shown(HOSTNAME),
    ({ issuer }) => issuer.CN !== HOSTNAME,
  )

test('a new certificate is not renewed again at once, even if the authority suggests it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-acme-'))
  Object.assign(opinion.window, { start: Date.now() - 2 * DAY, end: Date.now() - DAY })
  await running(dataDir, async (host) => {
    const first = await had(host)
    await until(
      () => Promise.resolve(opinion.asked),
      ({ length }) => length > 0,
    )
    // About 20 rounds.
    await new Promise((resolve) => setTimeout(resolve, 2000))
    expect((await host.shown(HOSTNAME)).fingerprint256).toBe(first.fingerprint256)
    expect(opinion.asked).toEqual([expect.stringMatching(/^\/renewal\/[\w-]+\.[\w-]+$/)])
    expect(host.said.filter((line) => line.includes('installed a new certificate'))).toHaveLength(1)
  })

  // Two days later, it follows the authority's suggestion.
  const file = join(dataDir, 'acme', 'state.json')
  const state = JSON.parse(await readFile(file, 'utf8')) as {
    certificates: Record<string, { hadAt: number }>
  }
  state.certificates[HOSTNAME]!.hadAt -= 2 * DAY
  await writeFile(file, JSON.stringify(state))
  await running(dataDir, async (host) => {
    await host.until(({ certificates }) => certificates[HOSTNAME]!.hadAt > Date.now() - DAY)
    expect(await host.heard(1)).toEqual(['installed a new certificate'])
  })
  await rm(dataDir, { recursive: true })
})
