import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readEnvironment } from '../../appliance/config/environment.ts'

const project = join(import.meta.dirname, '..', '..')
const read = (...path: string[]): string => readFileSync(join(project, ...path), 'utf8')

interface Service {
  environment: Record<string, string>
  volumes: string[]
  stop_grace_period: string
  read_only: boolean
  cap_drop: string[]
  security_opt: string[]
  healthcheck: { test: string[] }
}
const { services } = parse(read('container', 'compose.yaml')) as { services: { posthaste: Service } }
const service = services.posthaste
const containerfile = read('container', 'Containerfile')

describe('container/compose.yaml', () => {
  test('gives the daemon only the privileges it needs', () => {
    const { read_only, cap_drop, security_opt } = service
    expect({ read_only, cap_drop, security_opt }).toEqual({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  })

  test('the stop timeout is more than twice the time to drain deliveries', () => {
    const drain = Number(
      /DRAIN_MS = ([\d_]+)/.exec(read('appliance', 'assembly', 'outbound.ts'))![1]!.replaceAll('_', ''),
    )
    const grace = Number(/^(\d+)s$/.exec(service.stop_grace_period)![1])
    expect(grace * 1000).toBeGreaterThan(drain * 2)
  })

  test('sets only variables that are valid settings', () => {
    const given = Object.fromEntries(Object.keys(service.environment).map((name) => [name, 'x']))
    const complaints: Parameters<typeof readEnvironment>[1] = []
    const { notes } = readEnvironment(given, complaints)
    expect({ complaints, notes }).toEqual({ complaints: [], notes: [] })
  })

  test('uses the health check and data directory of the image', () => {
    const check = /^ {2}CMD (\[.*\])$/m.exec(containerfile)![1]!
    expect(service.healthcheck.test).toEqual(['CMD', ...(JSON.parse(check) as string[])])
    const volume = /^VOLUME (\S+)$/m.exec(containerfile)![1]!
    expect(service.volumes).toEqual([`data:${volume}`])
    expect(containerfile).toContain(`POSTHASTE_DATA_DIR=${volume}\n`)
  })
})

describe('the image', () => {
  test('the image is built without running or downloading anything', () => {
    expect(containerfile).not.toMatch(/^\s*(RUN|ADD)\b/m)
  })

  test('the image does not run as root', () => {
    expect(/^USER (.*)$/m.exec(containerfile)![1]).toBe('10001:10001')
  })

  test('scripts/container has valid shell syntax', () => {
    const { status, stderr } = spawnSync('bash', ['-n', join(project, 'scripts', 'container')], {
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  test.each([
    [['--base'], 'usage: ./scripts/container'],
    [['--bass', 'x'], 'Unknown option --bass'],
    [['--base', 'a', '--base-archive', 'b'], 'Use either --base or --base-archive, not both.'],
    [['--tarball', '/nowhere.tar.gz'], 'File not found: /nowhere.tar.gz'],
    [['--tool', 'dockre'], 'Unknown tool dockre. Use docker, podman or buildah.'],
  ])('scripts/container rejects %j with an error', (args, words) => {
    const { status, stderr } = spawnSync(join(project, 'scripts', 'container'), args, { encoding: 'utf8' })
    expect(status).toBe(1)
    expect(stderr).toContain(words)
  })
})
