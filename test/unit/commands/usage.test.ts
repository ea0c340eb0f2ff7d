import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { installation, posthaste, posthasteProcess } from './program.ts'

describe('a usage error', () => {
  test.concurrent.each([
    [[], /^Usage: posthaste/],
    [['explode'], /^error: unknown command 'explode'/],
    [['queue', 'list', '--colour'], /^error: unknown option '--colour'/],
    [['setup'], /^error: required option '--email <address>' not specified/],
    [['domain', 'add'], /^error: missing required argument 'name'/],
    [
      ['key', 'create', '--name', 'x', '--permission', 'root'],
      /Allowed choices are full_access, sending_access/,
    ],
    [['queue', 'drop', '--id', '5'], /An ID looks like 0197c3e2/],
    [['queue', 'list', '--limit', '0'], /Expected a whole number from 1 to 999999/],
    [['queue', 'list', '--state', 'sent'], /Allowed choices are waiting, held/],
    [['help', 'explode'], /^error: unknown command 'explode'\n/],
    [['domain', 'help', 'explode'], /^error: unknown command 'explode'\n/],
    [['help', 'domain', 'ad'], /^error: unknown command 'ad'\n\(Did you mean add\?\)\n/],
  ])(
    'a usage error in %j exits with code 2 and prints the reason on standard error',
    async (args, reason) => {
      const { code, stdout, stderr } = await posthaste(args)
      expect(stderr).toMatch(reason)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    },
  )

  test('a usage error sets the exit code of the process', async () => {
    const { code, stdout, stderr } = await posthasteProcess(['explode'])
    expect(stderr).toMatch(/^error: unknown command 'explode'/)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })

  test('--help is not a usage error, even without required arguments', async () => {
    const { code, stdout, stderr } = await posthasteProcess(['queue', 'hold', '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('--json')
    expect(stdout).toContain('--config')
  })
})

describe('help', () => {
  test.concurrent.each([
    [['help'], 'posthaste [options] [command]'],
    [['help', 'domain'], 'posthaste domain [options] [command]'],
    [['domain', 'help'], 'posthaste domain [options] [command]'],
    [['help', 'domain', 'add'], 'posthaste domain add [options] <name>'],
    [['domain', 'help', 'add'], 'posthaste domain add [options] <name>'],
    [['help', 'status'], 'posthaste status [options]'],
  ])('%j prints the usage of the command', async (args, line) => {
    const { code, stdout, stderr } = await posthaste(args)
    expect({ code, stderr, first: stdout.split('\n')[0] }).toEqual({
      code: 0,
      stderr: '',
      first: `Usage: ${line}`,
    })
  })

  test('help is an ordinary argument after a command', async () => {
    const { config } = installation()
    const { stderr } = await posthaste(['domain', 'show', 'help', '--config', config])
    expect(stderr).toMatch(/^Posthaste has not been set up: /)
  })
})

describe('version', () => {
  test('version prints text, or JSON with --json', async () => {
    const [plain, json] = await Promise.all([
      posthasteProcess(['version']),
      posthasteProcess(['version', '--json']),
    ])
    expect(plain.stdout).toMatch(/^posthaste \d+\.\d+\.\d+ \(Node v\d+\.\d+\.\d+\)\n$/)
    expect(JSON.parse(json.stdout)).toEqual({
      object: 'version',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
      node: process.version,
    })
  })
})

describe.concurrent('a configuration with errors', () => {
  test('all configuration errors are reported on standard error, with exit code 1', async () => {
    const { config } = installation('[http]\nlisten = ["nowhere"]\n[delivery]\nprot = 25\n')
    expect(await posthasteProcess(['domain', 'list', '--config', config])).toEqual({
      code: 1,
      stdout: '',
      stderr: `The configuration has 2 errors:
  ${config}:4: http.listen[0] is "nowhere"; expected an address with a port, such as 0.0.0.0:8025 or [::]:8025.
  ${config}:6: unknown key delivery.prot. Did you mean delivery.port?
`,
    })
  })

  test('a configuration with errors prevents serve from starting', async () => {
    const { config } = installation('[log]\nlevel = 5\n')
    const { code, stderr } = await posthasteProcess(['serve', '--config', config])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The configuration has an error:\n {2}.*:4: log\.level is 5; expected /)
  })

  test('a missing configuration file is reported', async () => {
    const { code, stderr } = await posthaste(['key', 'list', '--config', '/nonexistent/posthaste.toml'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'The configuration has an error:\n  /nonexistent/posthaste.toml: file not found.\n',
    })
  })
})

test('an unusable data directory is reported with the reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-commands-'))
  writeFileSync(join(folder, 'data'), 'a file')
  const config = join(folder, 'posthaste.toml')
  writeFileSync(config, `hostname = "mail.sender.test"\ndata_dir = "${folder}/data"\n`)
  const { code, stderr } = await posthaste(['domain', 'list', '--config', config])
  expect(code).toBe(1)
  expect(stderr).toMatch(new RegExp(`^The storage in ${folder}/data could not be opened: .+\n$`))
})
