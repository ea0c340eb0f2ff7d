import { spawnSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { writeDaemonRun } from '../../../appliance/commands/daemon-file.ts'
import { checkHealth, buildHealthUrl } from '../../../appliance/commands/healthcheck.ts'
import { PROGRAM } from '../../world/program.ts'
import { tlsOptions } from '../../world/tls.ts'

const program = join(PROGRAM, '..', 'healthcheck.js')

describe('the container health check', () => {
  let dataDir: string
  const servers: Server[] = []
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'posthaste-health-'))
  })
  afterEach(() => {
    for (const server of servers.splice(0)) server.close()
    rmSync(dataDir, { recursive: true })
  })

  async function listen(server: Server): Promise<number> {
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const daemonAt = (...listeners: string[]): void =>
    writeDaemonRun(dataDir, { pid: 1, version: '0.1.0', startedAt: 0, listeners })
  const well: RequestListener = (request, response) =>
    response.writeHead(request.url === '/healthz' ? 200 : 404).end('{"status":"ok"}\n')

  test('the container health check succeeds if the daemon answers /healthz at its listener', async () => {
    const port = await listen(createServer(well))
    daemonAt('smtp://0.0.0.0:25', `http://0.0.0.0:${port}`)
    expect(await checkHealth(dataDir)).toEqual({
      ok: true,
      words: `http://127.0.0.1:${port}/healthz answered 200: {"status":"ok"}`,
    })
  })

  test('the container health check uses HTTPS if there is no other listener, and accepts any certificate', async () => {
    const port = await listen(createTlsServer(tlsOptions('expired'), well))
    daemonAt(`https://127.0.0.1:${port}`)
    expect((await checkHealth(dataDir)).ok).toBe(true)
  })

  test('the container health check fails with the reasons when the storage does not respond', async () => {
    const port = await listen(
      createServer((_request, response) => response.writeHead(503).end('{"reasons":["no read"]}')),
    )
    daemonAt(`http://127.0.0.1:${port}`)
    expect(await checkHealth(dataDir)).toEqual({
      ok: false,
      words: `http://127.0.0.1:${port}/healthz answered 503: {"reasons":["no read"]}`,
    })
  })

  test('the container health check fails when the daemon is not listening yet', async () => {
    expect(await checkHealth(dataDir)).toEqual({
      ok: false,
      words: `The daemon is not listening yet: there is no daemon.json in ${dataDir}.`,
    })
  })

  test('the container health check fails when a killed daemon left its listeners in daemon.json', async () => {
    const port = await listen(createServer(well))
    servers.pop()!.close()
    daemonAt(`http://127.0.0.1:${port}`)
    const { ok, words } = await checkHealth(dataDir)
    expect({ ok, words }).toEqual({
      ok: false,
      words: `http://127.0.0.1:${port}/healthz did not respond: connect ECONNREFUSED 127.0.0.1:${port}`,
    })
  })

  test('the container health check queries wildcard addresses on loopback', () => {
    expect(buildHealthUrl('http://[::]:8025').href).toBe('http://[::1]:8025/healthz')
    expect(buildHealthUrl('https://0.0.0.0:8443').href).toBe('https://127.0.0.1:8443/healthz')
    expect(buildHealthUrl('http://192.0.2.1:8025').href).toBe('http://192.0.2.1:8025/healthz')
  })

  test('the container health check exits with 0 or 1, and prints one line on failure', async () => {
    const env = { ...process.env, POSTHASTE_DATA_DIR: dataDir }
    const before = spawnSync(process.execPath, [program], { env, encoding: 'utf8' })
    expect({ status: before.status, lines: before.stdout.split('\n').length }).toEqual({
      status: 1,
      lines: 2,
    })

    daemonAt(`http://127.0.0.1:${await listen(createServer(well))}`)
    const child = spawn(process.execPath, [program], { env, stdio: 'ignore' })
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
