import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findConfig, readRunningSandbox, createSandboxConfig } from '../../../appliance/config/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-sandbox-'))
const written = join(folder, 'posthaste.toml')
writeFileSync(written, 'hostname = "mail.example.com"\n')

describe('the sandbox', () => {
  const found = (args: Parameters<typeof findConfig>[0]) => findConfig(args).sandbox

  test('the sandbox allows delivery to loopback, and reads environment variables', () => {
    const loaded = createSandboxConfig({ env: { POSTHASTE_HTTP__LISTEN: '127.0.0.1:0' }, directory: folder })
    expect(loaded).toMatchObject({
      config: {
        hostname: 'mail.posthaste.localhost',
        data_dir: folder,
        http: { listen: ['127.0.0.1:0'] },
        delivery: { allow_networks: ['127.0.0.0/8'] },
      },
      source: null,
    })
  })

  test('the sandbox is selected only if nothing is configured', () => {
    const none = join(folder, 'none')
    expect(found({ env: {}, defaultFile: none })).toBe(true)
    expect(found({ env: {}, defaultFile: written })).toBe(false)
    expect(found({ env: {}, defaultFile: none, file: written })).toBe(false)
    expect(found({ env: { POSTHASTE_HOSTNAME: 'a.example.com' }, defaultFile: none })).toBe(false)
  })

  test('the sandbox is found by its running.json while its process exists', () => {
    const running = { dns: '127.0.0.1:5300', deliveryPort: 2525, pid: process.pid }
    const directory = mkdtempSync(join(folder, 'running-'))
    expect(readRunningSandbox(directory)).toBeUndefined()
    writeFileSync(join(directory, 'running.json'), JSON.stringify(running))
    expect(readRunningSandbox(directory)).toEqual(running)
    // Above the highest process ID that Linux assigns.
    writeFileSync(join(directory, 'running.json'), JSON.stringify({ ...running, pid: 4_194_305 }))
    expect(readRunningSandbox(directory)).toBeUndefined()
  })
})
