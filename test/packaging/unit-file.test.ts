import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const project = join(import.meta.dirname, '..', '..')
const unit = join(project, 'systemd', 'posthaste.service')
const missing = spawnSync('systemd-analyze', ['--version']).status !== 0

describe.skipIf(missing)('the systemd unit (skipped without systemd-analyze)', () => {
  test('the unit passes systemd-analyze verify without warnings', () => {
    const folder = mkdtempSync(join(tmpdir(), 'posthaste-unit-'))
    try {
      const copy = join(folder, 'posthaste.service')
      // The program is not installed here; a missing one is a complaint of its own.
      writeFileSync(copy, readFileSync(unit, 'utf8').replace('/usr/bin/posthaste', '/bin/true'))
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', copy], {
        encoding: 'utf8',
      })
      // A misspelt key is only a line on standard error, with exit code 0.
      expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: '' })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('the unit has an exposure of at most 2.0 in systemd-analyze security', () => {
    const args = ['security', '--offline=true', '--threshold=20', unit]
    const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    expect({ status, last: status === 0 ? '' : stdout.trim().split('\n').at(-1) }).toEqual({
      status: 0,
      last: '',
    })
  })
})

describe('packaging scripts', () => {
  const scripts = [
    'install',
    'packaging/posthaste',
    'packaging/postinst',
    'packaging/prerm',
    'packaging/postrm',
  ]
  test.each(scripts)('%s has valid shell syntax', (name) => {
    const { status, stderr } = spawnSync('sh', ['-n', join(project, 'scripts', name)], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  test('the stop timeout of the unit is more than twice the time to drain deliveries', () => {
    const stop = Number(/^TimeoutStopSec=(\d+)$/m.exec(readFileSync(unit, 'utf8'))![1])
    const source = readFileSync(join(project, 'appliance', 'assembly', 'outbound.ts'), 'utf8')
    const drain = Number(/DRAIN_MS = ([\d_]+)/.exec(source)![1]!.replaceAll('_', ''))
    expect(stop * 1000).toBeGreaterThan(drain * 2)
  })

  test('package rejects a maintainer without an email address and shows the expected format', () => {
    const args = [join(project, 'scripts', 'package'), '--arch', 'amd64', '--maintainer', 'Ada Lovelace']
    const { status, stderr } = spawnSync('bash', args, { encoding: 'utf8' })
    const missing = 'dpkg not found. Build packages on Debian or Ubuntu.\n'
    const refused =
      "Invalid --maintainer Ada Lovelace. Use a name and an address: 'Ada Lovelace <ada@example.com>'.\n"
    expect({ status, refused: [missing, refused].includes(stderr) }).toEqual({ status: 1, refused: true })
  })

  test('the copyright file replaces a common license by its path and keeps the text around it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'posthaste-copyright-'))
    try {
      const name = join(folder, 'node_modules', 'either')
      mkdirSync(name, { recursive: true })
      writeFileSync(join(name, 'package.json'), '{ "name": "either", "version": "1.0.0" }')
      const gpl =
        'GNU GENERAL PUBLIC LICENSE\n   Version 2, June 1991\n\nLong.\nPOSSIBILITY OF SUCH DAMAGES.\n'
      writeFileSync(join(name, 'LICENSE'), `Choose one of two.\n\n${gpl}\nOr the other.`)
      const program = join(project, 'scripts', 'packaging', 'copyright.ts')
      const licence = join(project, 'LICENSE')
      const args = [program, licence, licence, join(folder, 'node_modules')]
      const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      expect(stdout).toContain(
        'either 1.0.0\n\nChoose one of two.\n\nThe text is in /usr/share/common-licenses/GPL-2 on Debian systems.\n\nOr the other.\n',
      )
      expect(stdout).not.toContain('END OF TERMS AND CONDITIONS')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('install rejects a tarball with the wrong checksum', () => {
    const folder = mkdtempSync(join(tmpdir(), 'posthaste-install-'))
    try {
      const arch = process.arch === 'arm64' ? 'arm64' : 'amd64'
      const tarball = join(folder, `posthaste-0.1.0-linux-${arch}.tar.gz`)
      writeFileSync(tarball, 'not what was published')
      writeFileSync(join(folder, 'SHA256SUMS'), `${'0'.repeat(64)}  posthaste-0.1.0-linux-${arch}.tar.gz\n`)
      const install = join(project, 'scripts', 'install')
      const { status, stderr } = spawnSync('sh', [install, '--dry-run', tarball], { encoding: 'utf8' })
      expect(status).toBe(1)
      expect(stderr).toContain(`expected ${'0'.repeat(64)}`)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
